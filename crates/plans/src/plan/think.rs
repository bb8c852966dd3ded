//! Reads think times: `"2s"`, `"1s..3s"`, or a table with the figures of a distribution.

use super::section::Item;
use workload::think::{Think, ThinkDistribution};
use workload::units;

const FORMS: &str = "a think time is `\"2s\"`, `\"1s..3s\"`, `{ mean = \"2s\", distribution = \"exponential\" }`, \
                     `{ mean = \"3s\", sd = \"1s\" }` or `{ median = \"2s\", p95 = \"8s\" }`";

/// The think time that `item` is.
pub(super) fn read(item: &Item<'_>) -> Option<Think> {
    if item.is_table() {
        return read_table(item);
    }
    if !item.is_text() {
        item.wrong(FORMS);
        return None;
    }
    let text = item.text()?;
    if let Some((min, max)) = text.split_once('-').filter(|(min, _)| !min.trim().is_empty()) {
        let (min, max) = (min.trim(), max.trim());
        // Of `1-3s` both have the unit.
        let unit = max.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = if min.ends_with(|c: char| c.is_ascii_digit()) { unit } else { "" };
        item.wrong(format!("a range of think times has two dots: `\"{min}{unit}..{max}\"`"));
        return None;
    }
    let Some((min, max)) = text.split_once("..") else { return item.duration().map(Think::Constant) };
    let min = item.issues.check(&item.span(), units::duration(min));
    let max = item.issues.check(&item.span(), units::duration(max));
    checked(item, ThinkDistribution::Uniform { min: min?, max: max? })
}

fn read_table(item: &Item<'_>) -> Option<Think> {
    let section = item.section("`think`")?;
    let time = |key| section.get(key).map(|value| value.duration());
    let (mean, sd, median, p95) = (time("mean"), time("sd"), time("median"), time("p95"));
    let name = match section.get("distribution") {
        None => None,
        Some(name) => Some(name.text()?),
    };
    section.finish();
    let distribution = match (name, mean, sd, median, p95) {
        (Some("exponential"), Some(mean), None, None, None) => ThinkDistribution::Exponential { mean: mean? },
        (None | Some("normal"), Some(mean), Some(sd), None, None) => {
            ThinkDistribution::Normal { mean: mean?, sd: sd? }
        }
        (None | Some("log-normal"), None, None, Some(median), Some(p95)) => {
            ThinkDistribution::LogNormal { median: median?, p95: p95? }
        }
        _ => {
            item.wrong(FORMS);
            return None;
        }
    };
    checked(item, distribution)
}

fn checked(item: &Item<'_>, distribution: ThinkDistribution) -> Option<Think> {
    item.issues.check(&item.span(), distribution.check())?;
    Some(Think::Drawn(distribution))
}
