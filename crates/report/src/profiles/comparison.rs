//! Two profiles compared, as text: the total, the functions that moved, the caveats.

use ::profile::{Basis, Caveat, Change, ComparedSide, Comparison, Kind, Mover, Significance};
use evidence::TerminalText;

use super::table::aligned;
use super::{amount, type_and_unit};
use crate::number;
use crate::text::visible;

/// A comparison as text, with at most `most` functions that moved and `most` that did not.
pub fn comparison(comparison: &Comparison, most: usize) -> TerminalText {
    let mut text = heading(comparison);
    let (moved, others): (Vec<&Mover>, Vec<&Mover>) =
        comparison.movers.iter().partition(|mover| mover.change.significance.is_difference());
    let moved: Vec<&Mover> = moved.into_iter().filter(|mover| mover.change.difference != 0.0).collect();
    text.line("").line(moved_heading(comparison, moved.len()));
    text.append(&section(comparison, &moved, most));
    let differing: Vec<&Mover> = others.into_iter().filter(|mover| mover.change.difference != 0.0).collect();
    if !differing.is_empty() {
        let few = differing.iter().filter(|mover| mover.change.significance == Significance::TooFew).count();
        text.line("").line(format_args!(
            "{} more differ by no more than sampling explains, or are undecided ({few} with too few samples, rule Q8):",
            differing.len()
        ));
        text.append(&section(comparison, &differing, most));
    }
    text.line("").line("Caveats:");
    for caveat in &comparison.caveats {
        text.line(format_args!("- {}", caveat_text(*caveat, comparison.kind)));
    }
    text
}

fn heading(comparison: &Comparison) -> TerminalText {
    let Change { base, new, .. } = &comparison.total;
    let measured = |value: f64| measure(value, comparison);
    let mut text = TerminalText::default();
    text.line(format_args!("{}, {}", type_and_unit(&comparison.sample_type), basis_text(comparison.basis)));
    if comparison.basis == Basis::Share {
        let all = |value: i64| amount(value as f64, &comparison.sample_type);
        text.line(format_args!("total: {} and {}, not compared", all(base.value), all(new.value)));
        return text;
    }
    let change = &comparison.total;
    let mut total = format!("total: {} -> {}", measured(base.measure), measured(new.measure));
    total.push_str(&format!(", {}", signed(change.difference, &measured)));
    if base.measure != 0.0 {
        total.push_str(&format!(" ({})", signed_percent(change.difference, base.measure)));
    }
    if let Some((low, high)) = change.interval {
        total.push_str(&format!(", 95 % interval {} to {}", signed(low, &measured), signed(high, &measured)));
    }
    text.line(format_args!("{total}: {}", significance_text(change.significance)));
    text
}

fn moved_heading(comparison: &Comparison, moved: usize) -> String {
    match (moved, comparison.tested) {
        (0, 0) if comparison.kind != Kind::State => "No function has enough samples for a test.".to_owned(),
        (0, tested) => {
            let compared = if tested == 0 { comparison.movers.len() } else { tested };
            format!("None of {compared} functions moved by more than sampling explains.")
        }
        (moved, 0) => format!("{moved} functions differ:"),
        (moved, tested) => {
            format!("{moved} of {tested} functions moved by more than sampling explains (flat values):")
        }
    }
}

fn section(comparison: &Comparison, movers: &[&Mover], most: usize) -> TerminalText {
    if movers.is_empty() {
        return TerminalText::default();
    }
    let rows: Vec<Vec<String>> = movers.iter().take(most).map(|mover| row(comparison, mover)).collect();
    let head = ["base", "new", "difference", "95 % interval", "of change", "samples", "function"];
    let mut text = aligned(&head, &rows);
    if movers.len() > most {
        text.line(format_args!("… and {} more", movers.len() - most));
    }
    text
}

fn row(comparison: &Comparison, mover: &Mover) -> Vec<String> {
    let Change { base, new, difference, interval, .. } = &mover.change;
    let measured = |value: f64| measure(value, comparison);
    let differing = |value: f64| difference_of(value, comparison);
    let none = || number::NOT_MEASURED.to_owned();
    let samples = |count: Option<f64>| number::or_not_measured(count, |count| number::plain(count.round()));
    let interval =
        interval.map(|(low, high)| format!("{} to {}", signed(low, &differing), signed(high, &differing)));
    let mut name = visible(&mover.name);
    if mover.change.significance == Significance::OneSided {
        name.push_str(if base.value.abs() < new.value.abs() {
            " [few samples before]"
        } else {
            " [few samples after]"
        });
    }
    if let Some(net) = &mover.under {
        let caller = visible(&net.caller);
        let moved = if net.is_shift { "only moved within" } else { "under" };
        name.push_str(&format!(" [{moved} {caller}: {}]", signed(net.change.difference, &differing)));
    }
    vec![
        measured(base.measure),
        measured(new.measure),
        signed(*difference, &differing),
        interval.unwrap_or_else(none),
        mover.of_total_change.map_or_else(none, |share| number::percent(share, 1.0)),
        format!("{} / {}", samples(base.samples), samples(new.samples)),
        name,
    ]
}

fn basis_text(basis: Basis) -> String {
    match basis {
        Basis::Request { base, new } => {
            format!("per request, of {} and {}", number::count(base), number::counted(new, "request"))
        }
        Basis::Share => "as shares of the total".to_owned(),
        Basis::Absolute => "as measured".to_owned(),
    }
}

fn measure(value: f64, comparison: &Comparison) -> String {
    match comparison.basis {
        Basis::Share => number::percent(value, 1.0),
        _ => amount(value, &comparison.sample_type),
    }
}

/// A difference: shares differ by percentage points.
fn difference_of(value: f64, comparison: &Comparison) -> String {
    match comparison.basis {
        Basis::Share => format!("{} points", number::significant(value * 100.0, 3)),
        _ => measure(value, comparison),
    }
}

fn signed(value: f64, measured: &dyn Fn(f64) -> String) -> String {
    let text = measured(value);
    if value > 0.0 { format!("+{text}") } else { text }
}

fn signed_percent(part: f64, whole: f64) -> String {
    signed(part / whole, &|share| number::percent(share, 1.0))
}

fn significance_text(significance: Significance) -> &'static str {
    match significance {
        Significance::Moved => "more than sampling explains",
        Significance::OneSided => "more than sampling explains, with few samples on one side",
        Significance::Noise => "no more than sampling explains",
        Significance::TooFew => "too few samples to say",
        Significance::Counted => "counted completely",
        Significance::Unknown => "unknown: the profile does not contain how it was sampled",
    }
}

fn caveat_text(caveat: Caveat, kind: Kind) -> String {
    let side =
        |side: ComparedSide| if side == ComparedSide::Base { "the baseline" } else { "the new profile" };
    match caveat {
        Caveat::OnePair => "One profile per side shows only what moved by more than sampling error; shares differ more than \
                            that between runs. Take several pairs, in alternation, before you call it a regression."
            .to_owned(),
        Caveat::NoRequests => "Without counts of requests only shares can be compared: one grows when any other shrinks, and \
                               the total is not compared. Give --requests and --base-requests."
            .to_owned(),
        Caveat::SinceStart { side: which } => format!(
            "{} counts from the start of its process, so it has no window in which requests could be counted. Take it \
             with ?seconds=N, or subtract an earlier one.",
            capital(side(which))
        ),
        Caveat::NotMeasured { side: which } => {
            let what = if kind == Kind::Contention { "waiting" } else { "allocation" };
            format!("In {} sampling was off or its rate is unknown: {what} was not measured, which is not the same as none.", side(which))
        }
        Caveat::Negative { side: which } => {
            format!("{} has negative stacks: a difference with the wrong profile, or across a restart.", capital(side(which)))
        }
        Caveat::RateUnknown => "The profile does not contain its sampling rate: errors are larger than shown.".to_owned(),
        Caveat::DifferentRates => "The profiles were sampled at different rates.".to_owned(),
        Caveat::Same => "Both are the same profile.".to_owned(),
        Caveat::TotalUnmoved => "The total did not move by more than sampling explains: some functions gained what others lost, as \
                                 after renaming, inlining or moving work."
            .to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
