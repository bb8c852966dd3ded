//! A captured profile as text.

use super::{amount, amount_of_type};
use crate::number;
use crate::summary::CapturedProfile;
use crate::text::visible;

/// How many functions are named in one line.
const NAMED: usize = 3;

/// The window, requests and total of a profile.
pub(crate) fn facts(profile: &CapturedProfile) -> String {
    let CapturedProfile { begin_s, end_s, ok, failed, .. } = profile;
    let window = format!("{begin_s} s to {end_s} s of the run");
    let requests =
        format!("{} succeeded, {} failed", number::counted(*ok, "request"), number::count(*failed));
    let Some(top) = &profile.top else { return format!("{window}: {requests}") };
    let total = amount_of_type(top.total as f64, &top.sample_type);
    let each = profile
        .per_request()
        .map(|each| format!(", {} per successful request", amount(each, &top.sample_type)));
    format!("{window}: {requests}. {total}{}", each.unwrap_or_default())
}

/// The title, facts, most expensive functions and remark of a profile, in one line.
pub(crate) fn one_line(profile: &CapturedProfile) -> String {
    let mut text = format!("{}, {}", visible(&profile.title()), facts(profile));
    if let Some(top) = profile.top.as_ref().filter(|top| top.total > 0 && !top.rows.is_empty()) {
        let share = |row: &::profile::Row| number::percent(row.flat as f64, top.total as f64);
        let named = top.rows.iter().take(NAMED).map(|row| format!("{} {}", visible(&row.name), share(row)));
        text.push_str(&format!(": {}", named.collect::<Vec<_>>().join(", ")));
    }
    if let Some(remark) = &profile.remark {
        text.push_str(&format!(" ({remark})"));
    }
    text
}
