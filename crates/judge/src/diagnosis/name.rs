//! Which resource is named as the limit.

use evidence::diagnosis::{CapacityInterval, Diagnosis, LedgerLine, LedgerStanding};
use figures::number::brief;

use super::{BreakRange, resources};

/// From this share of the growth on the wait for a resource explains it.
const EXPLAINS: f64 = 0.4;
/// By this factor it must exceed the wait for any other.
const MORE_THAN_OTHERS: f64 = 2.0;
/// A resource whose wait was not observed is named only if every other would suffice for so many times its load …
const OTHERS_SUFFICE: f64 = 1.3;
/// … and no more than this share of the growth is in observed waits.
const MOST_IN_OTHER_WAITS: f64 = 0.4;
/// By this factor more of a resource moves the break visibly.
const MORE_OF_IT: f64 = 1.5;

/// Whether the ledger names a resource.
enum Naming {
    /// That of this line.
    Limit(usize),
    /// None, for this reason.
    Undetermined(String),
}

/// The diagnosis with the resource that it names, or with the reason why it names none.
pub(super) fn with_limit(mut diagnosis: Diagnosis, range: BreakRange) -> Diagnosis {
    match naming(&diagnosis, range) {
        Naming::Limit(at) => {
            diagnosis.because = because(&diagnosis, range, &diagnosis.ledger[at]);
            diagnosis.confirm = confirmation(&diagnosis.ledger, at);
            let line = &mut diagnosis.ledger[at];
            line.standing = LedgerStanding::Limits;
            diagnosis.limit = Some(line.resource.clone());
        }
        Naming::Undetermined(why) => diagnosis.because = format!("UNDETERMINED: {why}"),
    }
    diagnosis
}

fn naming(diagnosis: &Diagnosis, range: BreakRange) -> Naming {
    let ledger = &diagnosis.ledger;
    let of = |standing: LedgerStanding| ledger.iter().filter(move |line| line.standing == standing);
    let listed = |lines: Vec<&LedgerLine>| -> String {
        lines.iter().map(|line| line.resource.as_str()).collect::<Vec<_>>().join(", ")
    };
    let candidates: Vec<&LedgerLine> = of(LedgerStanding::Candidate).collect();
    let [candidate] = candidates[..] else {
        return Naming::Undetermined(match candidates.is_empty() {
            false => format!("{} would all be used up where it breaks.", listed(candidates)),
            true => none_is_used_up(diagnosis, &listed(of(LedgerStanding::HeldForLonger).collect())),
        });
    };
    let others = || ledger.iter().filter(|line| line.resource != candidate.resource);
    // What is held while the limit is waited for grows by the same wait.
    let independent = || others().filter(|line| line.standing != LedgerStanding::HeldForLonger);
    let most_of_others = independent().filter_map(|line| line.wait_growth).fold(0.0, f64::max);
    let name = &candidate.resource;
    let against = match observed_wait(candidate) {
        Some(share) if share < EXPLAINS => Some(format!(
            "{name} would be used up where it breaks, and the wait for it is only {} of the growth of the response time.{}",
            percent(share),
            residual(diagnosis)
        )),
        Some(share) if share < MORE_THAN_OTHERS * most_of_others => Some(format!(
            "{name} would be used up where it breaks, and waits for other resources grow by more than half as much."
        )),
        Some(_) => None,
        None => against_unobserved(range, candidate, &independent().collect::<Vec<_>>()),
    };
    let place = ledger.iter().position(|line| line.resource == *name);
    match against {
        Some(why) => Naming::Undetermined(why),
        None => Naming::Limit(place.expect("a candidate is a line of the ledger")),
    }
}

/// The share of the growth that was spent waiting for a resource. Threads that wait for a processor are a part of what waits for it: a
/// program with queues of its own (goroutines, an event loop, a pool of as many threads as processors) lets requests wait there, which the
/// kernel does not see. So a short wait of threads is one that was not observed.
fn observed_wait(line: &LedgerLine) -> Option<f64> {
    line.wait_growth.filter(|share| !resources::is_of_processors(&line.series) || *share >= EXPLAINS)
}

/// Why a candidate whose wait was not observed may not be named; none: it may.
fn against_unobserved(range: BreakRange, candidate: &LedgerLine, others: &[&LedgerLine]) -> Option<String> {
    let name = &candidate.resource;
    let in_other_waits: f64 = others.iter().filter_map(|line| line.wait_growth).sum();
    if in_other_waits > MOST_IN_OTHER_WAITS {
        return Some(format!(
            "{name} would be used up where it breaks, and {} of the growth of the response time is in waits for others.",
            percent(in_other_waits)
        ));
    }
    let needed = OTHERS_SUFFICE * range.breaks_per_s;
    // What is only waited for has its part in the share above.
    let mut limited = others.iter().filter(|line| line.standing != LedgerStanding::WaitedFor);
    let line = limited.find(|line| line.capacity_per_s.is_none_or(|limits| limits.low < needed))?;
    let other = match line.capacity_per_s {
        None => "is of unknown demand".to_owned(),
        Some(limits) => format!("may be used up at {} already", brief::rate(limits.low)),
    };
    Some(format!(
        "{name} would be used up where it breaks; the wait for it was not observed, and {} {other}.",
        line.resource
    ))
}

fn none_is_used_up(diagnosis: &Diagnosis, held: &str) -> String {
    let ledger = &diagnosis.ledger;
    let most_waited_for = ledger
        .iter()
        .filter(|line| line.standing == LedgerStanding::WaitedFor)
        .filter_map(|line| Some((line, line.wait_growth?)))
        .filter(|(_, share)| *share >= EXPLAINS)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((line, share)) = most_waited_for {
        return format!(
            "{} of the growth of the response time is spent waiting for {}, and how much load that carries was not observed.",
            percent(share.min(1.0)),
            line.resource
        );
    }
    match (ledger.is_empty(), held.is_empty()) {
        (true, _) => "no resource of the target was observed.".to_owned(),
        (false, false) => format!(
            "{held}: held for longer as the load grows, so that what is waited for meanwhile is the limit, and that was not \
             observed.{}",
            residual(diagnosis)
        ),
        (false, true) => {
            format!("nothing that was observed would be used up where it breaks.{}", residual(diagnosis))
        }
    }
}

/// What no observed wait explains.
fn residual(diagnosis: &Diagnosis) -> String {
    match diagnosis.unexplained {
        Some(share) => format!(" {} of the growth is in no observed wait.", percent(share)),
        None => String::new(),
    }
}

/// Why a resource is named: `db of inventory: 28 ms of 48 ms are spent waiting for one of 4; 4 ÷ 20.6 ms = 194/s is the ceiling`.
fn because(diagnosis: &Diagnosis, range: BreakRange, line: &LedgerLine) -> String {
    let wait_s = line.wait_s.filter(|_| observed_wait(line).is_some());
    let spent = match (wait_s, diagnosis.response_s) {
        (Some(wait), Some([_, response])) => format!(
            "{} of {} are spent waiting for {}",
            brief::ms(wait * 1e3),
            brief::ms(response * 1e3),
            one_of(line)
        ),
        _ => "how long requests wait for it was not observed".to_owned(),
    };
    let (holds, breaks) = (brief::rate(range.holds_per_s), brief::rate(range.breaks_per_s));
    let is_processor =
        |other: &&LedgerLine| other.series == resources::CPU && other.resource != line.resource;
    let processors = diagnosis.ledger.iter().filter(is_processor).filter_map(|cpu| {
        let share = cpu.used_at_break? / cpu.limit?;
        Some(format!("; {} is at {}", cpu.resource, percent(share)))
    });
    format!(
        "{}: {spent}{}; objectives hold at {holds} and break at {breaks}{}.",
        line.resource,
        ceiling(line),
        processors.collect::<String>()
    )
}

/// What is waited for, of one resource.
fn one_of(line: &LedgerLine) -> String {
    match line.limit {
        Some(limit) if !resources::is_of_processors(&line.series) => {
            format!("one of {}", brief::significant(limit))
        }
        _ => "a processor".to_owned(),
    }
}

/// The load at which a resource is used up.
fn ceiling(line: &LedgerLine) -> String {
    let (Some(demand), Some(limit), Some(CapacityInterval { low, high })) =
        (line.demand_s, line.limit, line.capacity_per_s)
    else {
        return String::new();
    };
    let (takes, whole) = (brief::ms(demand.mean * 1e3), brief::significant(limit));
    let ends = match high {
        Some(high) => format!("{} to {}", brief::rate(low), brief::rate(high)),
        None => format!("{} or more", brief::rate(low)),
    };
    let quotient = limit / demand.mean;
    // What is used without any load is not in the quotient.
    match low <= quotient && high.is_none_or(|high| quotient <= high) {
        true => format!("; {whole} ÷ {takes} = {} is the ceiling ({ends})", brief::rate(quotient)),
        false => format!("; a completion takes {takes} of {whole}, so that it is used up at {ends}"),
    }
}

/// The experiment that would show whether it is the limit: half as much of it more.
fn confirmation(ledger: &[LedgerLine], at: usize) -> Option<String> {
    let line = &ledger[at];
    let (limit, now) = (line.limit?, line.capacity_per_s?);
    let others = ledger.iter().enumerate().filter(|(other, _)| *other != at);
    let next = others.filter_map(|(_, line)| Some((line.capacity_per_s?.low, &line.resource)));
    let next = next.min_by(|a, b| a.0.total_cmp(&b.0));
    let more = match limit >= 2.0 && limit.fract() == 0.0 {
        true => (limit * MORE_OF_IT).ceil(),
        false => limit * MORE_OF_IT,
    };
    let factor = more / limit;
    let then = now.low * factor;
    let bounded = match next {
        Some((low, other)) if low < then => format!("{} ({other} is next)", brief::rate(low)),
        _ => brief::rate(then),
    };
    Some(format!(
        "Raise {} from {} to {} and search again with `plimsoll capacity`: if it is the limit, the service then carries {bounded} or \
         more.",
        line.resource,
        brief::significant(limit),
        brief::significant(more)
    ))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
