//! A profile of a window of a run, in words.

use super::{amount, counted, percent};
use crate::number;
use crate::summary::Profiled;
use crate::terminal::line::visible;

/// Functions that are named in one line.
const NAMED: usize = 3;

/// What the profile covers and comes to, in one sentence.
pub(crate) fn facts(profiled: &Profiled) -> String {
    let Profiled { begin_s, end_s, ok, failed, .. } = profiled;
    let window = format!("{begin_s} s to {end_s} s of the run");
    let requests = format!("{} requests ended well, {} did not", number::count(*ok), number::count(*failed));
    let Some(top) = &profiled.top else { return format!("{window}: {requests}") };
    let total = amount(top.total as f64, &top.sample_type);
    let each = profiled
        .per_request()
        .map(|each| format!(", {} a request that ended well", amount(each, &top.sample_type)));
    format!("{window}: {requests}. {total} of {}{}", counted(&top.sample_type), each.unwrap_or_default())
}

/// The same with its name, its costliest functions, and what must be known of it: one line.
pub(crate) fn in_words(profiled: &Profiled) -> String {
    let mut text = format!("{}, {}", visible(&profiled.title()), facts(profiled));
    let top = profiled.top.as_ref().filter(|top| top.total > 0);
    let named: Vec<String> = top
        .map(|top| {
            top.rows
                .iter()
                .take(NAMED)
                .map(|row| format!("{} {}", visible(&row.name), percent(row.flat as f64, top.total as f64)))
                .collect()
        })
        .unwrap_or_default();
    if !named.is_empty() {
        text.push_str(&format!(": {}", named.join(", ")));
    }
    if let Some(remark) = &profiled.remark {
        text.push_str(&format!(" ({remark})"));
    }
    text
}
