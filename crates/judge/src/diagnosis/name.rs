//! Which resource is named as the limit.

use evidence::diagnosis::{CapacityInterval, Diagnosis, LedgerLine, LedgerStanding};
use figures::number::brief;

/// From this share of the growth on the wait for a resource explains it.
const EXPLAINS: f64 = 0.4;
/// By this factor it must exceed the wait for any other.
const MORE_THAN_OTHERS: f64 = 2.0;
/// A resource whose wait was not observed is named only if every other would suffice for so many times its load …
const OTHERS_SUFFICE: f64 = 1.3;
/// … and no more than this share of the growth is in observed waits.
const MOST_IN_OTHER_WAITS: f64 = 0.4;

/// Whether the ledger names a resource.
enum Naming {
    /// That of this line.
    Limit(usize),
    /// None, for this reason.
    Undetermined(String),
}

/// The diagnosis with the resource that it names, or with the reason why it names none.
pub(super) fn with_limit(mut diagnosis: Diagnosis) -> Diagnosis {
    match naming(&diagnosis) {
        Naming::Limit(at) => {
            diagnosis.because = because(&diagnosis, &diagnosis.ledger[at]);
            let line = &mut diagnosis.ledger[at];
            line.standing = LedgerStanding::Limits;
            diagnosis.limit = Some(line.resource.clone());
        }
        Naming::Undetermined(why) => diagnosis.because = format!("UNDETERMINED: {why}"),
    }
    diagnosis
}

fn naming(diagnosis: &Diagnosis) -> Naming {
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
    let against = match candidate.wait_growth {
        Some(share) if share < EXPLAINS => Some(format!(
            "{name} would be used up where it breaks, and the wait for it is only {} of the growth of the response time.{}",
            percent(share),
            residual(diagnosis)
        )),
        Some(share) if share < MORE_THAN_OTHERS * most_of_others => Some(format!(
            "{name} would be used up where it breaks, and waits for other resources grow by more than half as much."
        )),
        Some(_) => None,
        None => against_unobserved(diagnosis, candidate, &independent().collect::<Vec<_>>()),
    };
    let place = ledger.iter().position(|line| line.resource == *name);
    match against {
        Some(why) => Naming::Undetermined(why),
        None => Naming::Limit(place.expect("a candidate is a line of the ledger")),
    }
}

/// Why a candidate whose wait was not observed may not be named; none: it may.
fn against_unobserved(
    diagnosis: &Diagnosis,
    candidate: &LedgerLine,
    others: &[&LedgerLine],
) -> Option<String> {
    let name = &candidate.resource;
    let in_other_waits: f64 = others.iter().filter_map(|line| line.wait_growth).sum();
    if in_other_waits > MOST_IN_OTHER_WAITS {
        return Some(format!(
            "{name} would be used up where it breaks, and {} of the growth of the response time is in waits for others.",
            percent(in_other_waits)
        ));
    }
    let needed = OTHERS_SUFFICE * diagnosis.range_per_s[1];
    let line = others.iter().find(|line| line.capacity_per_s.is_none_or(|limits| limits.low < needed))?;
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
    match (diagnosis.ledger.is_empty(), held.is_empty()) {
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

/// Why a resource is named: `CPU of inventory: 5.2 ms each, 4 in all: used up at 760/s to 790/s; it breaks between …`.
fn because(diagnosis: &Diagnosis, line: &LedgerLine) -> String {
    let [holds, breaks] = diagnosis.range_per_s.map(brief::rate);
    let demand = line.demand_s.map_or_else(String::new, |demand| {
        format!(
            "a completion takes {} of {}, so that it is ",
            brief::ms(demand.mean * 1e3),
            brief::significant(line.limit)
        )
    });
    let used_up = line.capacity_per_s.map_or_else(String::new, |CapacityInterval { low, high }| match high {
        Some(high) => format!("used up at {} to {}", brief::rate(low), brief::rate(high)),
        None => format!("used up at {} or more", brief::rate(low)),
    });
    let wait = match line.wait_growth {
        Some(share) => format!(
            "; {} of the growth of the response time is spent waiting for it",
            percent(share.min(1.0))
        ),
        None => "; how long requests wait for it was not observed".to_owned(),
    };
    format!("{}: {demand}{used_up}; objectives hold at {holds} and break at {breaks}{wait}.", line.resource)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
