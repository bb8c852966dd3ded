//! Reads `[profiles]` of an experiment: processor profiles in random slots of both arms.

use std::time::Duration;

use super::observation::{can_be_profiled, named_target, only_target};
use super::section::{Item, Section};
use workload::experiment::SlotProfiles;
use workload::model::Workload;

/// What is asked for; without the section, profiles of the only target with profiling endpoints, where the plan has none.
pub(super) fn read(root: &Section<'_>, workload: &Workload) -> Option<SlotProfiles> {
    let Some(item) = root.get("profiles") else { return usual(workload) };
    let section = item.section("`profiles`")?;
    let target = match section.get("target") {
        Some(item) => named_target(&item, &workload.targets),
        None => only_target(&section, &workload.targets),
    };
    let length = section.get("length").and_then(|item| {
        let length = item.duration()?;
        if length < Duration::from_secs(1) {
            item.wrong("`length` is 1 s or longer");
        }
        Some(length)
    });
    let share = section.get("share").map_or(Some(1.0), |item| share(&item));
    section.finish();
    let share = share?;
    (share > 0.0).then_some(SlotProfiles { target: target?, length, share })
}

/// A share of the pairs: 0 % to 100 %.
fn share(item: &Item<'_>) -> Option<f64> {
    let text = item.text()?;
    let share = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = share.filter(|percent| (0.0..=100.0).contains(percent));
    if share.is_none() {
        item.wrong("`share` is a share of the pairs, \"0%\" to \"100%\"");
    }
    Some(share? / 100.0)
}

/// To be asked for its profile is what such endpoints are for.
fn usual(workload: &Workload) -> Option<SlotProfiles> {
    if !workload.profiles.is_empty() {
        return None;
    }
    let mut offering = workload
        .targets
        .iter()
        .filter(|(_, target)| target.observe.pprof.is_some() && can_be_profiled(target));
    match (offering.next(), offering.next()) {
        (Some((name, _)), None) => Some(SlotProfiles { target: name.clone(), length: None, share: 1.0 }),
        _ => None,
    }
}
