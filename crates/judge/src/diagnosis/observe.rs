//! What should be observed to name a limit.

use evidence::diagnosis::{Diagnosis, LedgerLine, LedgerStanding};
use figures::number::brief;

use super::{LoadWindow, resources};

/// From this share of the growth on what no observed wait explains is worth looking for.
const MUCH: f64 = 0.4;
/// A load of which this share or less is completed is more than what is carried.
const NOT_CARRIED: f64 = 0.95;
/// Loads from this share of the highest on are high.
const HIGH: f64 = 0.8;
/// A target that uses less than this share of its processors, and whose threads wait for them for this share of what it uses or longer,
/// is held back by other programs.
const NOT_FULL: f64 = 0.7;
const MUCH_DELAYED: f64 = 0.25;
/// A target that uses less of its processors where it breaks may not be the one that answers.
const IDLE: f64 = 0.01;

/// A sentence for each, the most telling first.
pub(super) fn what(diagnosis: &Diagnosis, windows: &[LoadWindow]) -> Vec<String> {
    let mut sentences = Vec::new();
    let targets = diagnosis.ledger.iter().any(|line| !line.series.starts_with("host_"));
    if !targets {
        sentences.push(
            "Observe the target: its process (`process = { port = 8000 }` of `[targets.NAME]`), and its metrics \
             (`observe.prometheus`), which show its pools."
                .to_owned(),
        );
    }
    if diagnosis.limit.is_none() {
        sentences.extend(seen_from_outside(windows));
    }
    sentences.extend(diagnosis.ledger.iter().filter_map(|line| of_line(line, diagnosis)));
    sentences.extend(held_back(windows));
    let has_waits = diagnosis.ledger.iter().any(|line| line.wait_growth.is_some());
    let rest = diagnosis.unexplained.filter(|share| *share > MUCH && diagnosis.limit.is_none() && has_waits);
    if let Some(share) = rest {
        sentences.push(format!(
            "{:.0} % of the growth is in no observed wait: observe pools (`observe.prometheus`), the database \
             (`observe.postgres`), and the waits of the code (`[[profiles]]` of the kinds `block` and `mutex`).",
            share * 100.0
        ));
    }
    sentences
}

fn of_line(line: &LedgerLine, diagnosis: &Diagnosis) -> Option<String> {
    let name = &line.resource;
    if line.series == resources::BLOCKERS {
        return line.used_at_break.map(|waiting| {
            format!(
                "Where it breaks, {} sessions wait for {name}, which is its state and its last statement: make that transaction shorter, \
                 or let fewer of them touch the same rows.",
                brief::significant(waiting)
            )
        });
    }
    let is_limit_named = diagnosis.limit.is_some();
    if line.series == resources::LISTEN_OVERFLOWS {
        return line.used_at_break.map(|rate| {
            format!(
                "An accept queue was full, and {} connections were lost where it breaks: find why the server accepts late, or \
                 raise its backlog and `net.core.somaxconn`.",
                brief::rate(rate)
            )
        });
    }
    match line.standing {
        LedgerStanding::Candidate if line.wait_s.is_none() && !is_limit_named => {
            Some(match resources::is_of_processors(&line.series) {
                true => {
                    format!("Observe how long threads wait for {name}: the process by `process`, on Linux.")
                }
                false => format!(
                    "Observe how long requests wait for {name}: a metric that ends in `_wait_seconds` (a histogram or counter)."
                ),
            })
        }
        LedgerStanding::HeldForLonger if !is_limit_named => Some(format!(
            "Observe what is waited for while {name} is held: the database, or the service that is called meanwhile."
        )),
        _ if line.series == resources::CPU
            && line.demand_s.is_none()
            && line.used_at_break? < IDLE * line.limit? =>
        {
            Some(format!("{name} is idle under load: is the observed process the one that answers?"))
        }
        _ => None,
    }
}

/// That other programs had the processors which a target's threads waited for, at the higher loads.
fn held_back(windows: &[LoadWindow]) -> Option<String> {
    let highest = windows.iter().map(|window| window.completions_per_s).fold(0.0, f64::max);
    let high = windows.iter().filter(|window| window.completions_per_s >= HIGH * highest);
    let of_processors = |window: &LoadWindow| {
        let is_it = |it: &&evidence::diagnosis::ResourceUse| it.series == resources::CPU;
        let cpu = window.resources.iter().find(is_it)?;
        Some((cpu.name.clone(), cpu.share()?, cpu.used, cpu.wait_s? * window.completions_per_s))
    };
    let read: Vec<(String, f64, f64, f64)> = high.filter_map(of_processors).collect();
    let mean =
        |of: fn(&(String, f64, f64, f64)) -> f64| stats::mean(&read.iter().map(of).collect::<Vec<_>>());
    let (share, used, delayed) = (mean(|it| it.1)?, mean(|it| it.2)?, mean(|it| it.3)?);
    (share < NOT_FULL && delayed > MUCH_DELAYED * used).then(|| {
        format!(
            "Threads of the target waited {} s a second for a processor while it used {} of its own: other programs had them. {} \
             carries more on a quiet machine; repeat there.",
            brief::rough(delayed),
            brief::rough(used),
            read[0].0
        )
    })
}

/// How many requests are in progress at a time where more are offered than are completed: completions a second times the response time
/// without load (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", 1961). None where the target was never offered more than it
/// completes.
fn seen_from_outside(windows: &[LoadWindow]) -> Option<String> {
    let is_full = |window: &&LoadWindow| {
        window.offered_per_s.is_some_and(|offered| window.completions_per_s <= NOT_CARRIED * offered)
    };
    let full: Vec<f64> = windows.iter().filter(is_full).map(|window| window.completions_per_s).collect();
    let carried = stats::quantile(&full, 0.5)?;
    let below = windows.iter().filter(|window| window.completions_per_s < carried);
    let alone_s = below.filter_map(|window| window.response_s).min_by(f64::total_cmp)?;
    Some(format!(
        "From outside: {} are completed however many are offered, and one takes {} without load, so that about {} are in \
         progress at a time. Look for a pool, workers or a lock of that size.",
        brief::rate(carried),
        brief::ms(alone_s * 1e3),
        brief::rough(carried * alone_s)
    ))
}
