//! Reads how two arms run at the same moment: `together` and what belongs to it in `[design]`, and `[sides]`.

use std::collections::BTreeMap;

use workload::SharedLoad;
use workload::cpu_list::CpuList;
use workload::experiment::{Side, Timing, Together};

use super::super::section::{Item, Section};

/// The settings in `[design]`, with `sides`. What only makes sense at the same moment asks for it.
pub(super) fn read(design: Option<&Section<'_>>, sides: Option<[Side; 2]>) -> (Option<Together>, Timing) {
    let get = |key| design.and_then(|section| section.get(key));
    let share = get("share").and_then(|item| share(&item));
    let shared_store = get("shared_store").and_then(|item| item.flag());
    let confirm = get("confirm").and_then(|item| item.flag());
    let vary_load = get("vary_load").and_then(|item| item.flag());
    let is_asked = get("together").and_then(|item| together(&item));
    let has_flags = [shared_store, confirm, vary_load].iter().any(Option::is_some);
    let has_settings = share.is_some() || has_flags || sides.is_some();
    match is_asked.or(has_settings.then_some(true)) {
        None => (None, Timing::Usual),
        Some(false) => (None, Timing::Given),
        Some(true) => {
            let share = share.unwrap_or_default();
            let [shared_store, confirm, vary_load] =
                [shared_store, confirm, vary_load].map(Option::unwrap_or_default);
            let together = Together { share, sides, shared_store, confirm, vary_load };
            (Some(together), Timing::Given)
        }
    }
}

fn together(item: &Item<'_>) -> Option<bool> {
    match item.text()? {
        "requests" => Some(true),
        "never" => Some(false),
        _ => {
            item.wrong(
                "`together` takes `\"requests\"`: both arms run at the same moment, and each arrival goes to one of them; or \
                 `\"never\"`: they run in turn",
            );
            None
        }
    }
}

fn share(item: &Item<'_>) -> Option<SharedLoad> {
    match item.text()? {
        "half" => Some(SharedLoad::Half),
        "full" => Some(SharedLoad::Full),
        _ => {
            item.wrong(
                "`share` takes `\"half\"`: each arm gets half of the plan's load; or `\"full\"`: each gets all of it",
            );
            None
        }
    }
}

/// The two sides between which the arms are exchanged.
pub(super) fn sides(root: &Section<'_>) -> Option<[Side; 2]> {
    let item = root.get("sides")?;
    let section = item.section("`sides`")?;
    let read = |key: &'static str| {
        let item = section.need(key, "there are two sides, `[sides.one]` and `[sides.two]`")?;
        side(&item.section(&format!("side `{key}`"))?)
    };
    let (one, two) = (read("one"), read("two"));
    section.finish();
    let sides = [one?, two?];
    let counts = sides.each_ref().map(|side| side.cpus.as_ref().map(CpuList::count));
    if counts[0] != counts[1] {
        item.wrong("both sides have as many `cpus`, or none: else the side decides which version is faster");
    }
    Some(sides)
}

fn side(section: &Section<'_>) -> Option<Side> {
    let texts = |key| -> BTreeMap<String, String> {
        let entry = |item: Item<'_>| Some((item.key.clone(), item.text()?.to_owned()));
        section.entries(key).into_iter().filter_map(entry).collect()
    };
    let cpus = section.get("cpus").and_then(|item| {
        let parsed = item.text()?.parse::<CpuList>();
        item.issues.check(&item.span(), parsed)
    });
    let ready = section.get("ready").and_then(|item| super::ready(&item));
    let side = Side { env: texts("env"), targets: texts("targets"), ready, cpus };
    section.finish();
    Some(side)
}
