//! A plan of a recording (HTTP Archive 1.2, as browsers' developer tools save it): its requests in order, with the
//! pauses between them, and the values that responses gave. <http://www.softwareishard.com/blog/har-12-spec/>

mod body;
mod entry;
mod kind;
mod left_out;
mod writer;

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::draft::Draft;
use crate::error::DraftError;
use crate::plan::{Avoided, Selection};
use crate::{MAX_STEPS, render};
use kind::{is_static, site};
use left_out::LeftOut;
use writer::Writer;

/// A plan of the recording in `value`, which was read from `name`.
///
/// # Errors
/// [`DraftError`] for the first entry that cannot be read, or if no request is left.
pub fn of_har(name: &str, value: &Value, selection: Selection) -> Result<Draft, DraftError> {
    of_har_without(name, value, selection, &Avoided::default())
}

/// The same without the places of values in `avoided`: others take their turn.
///
/// # Errors
/// Those of [`of_har`].
pub fn of_har_without(
    name: &str,
    value: &Value,
    selection: Selection,
    avoided: &Avoided,
) -> Result<Draft, DraftError> {
    let mut left_out = LeftOut::default();
    let recorded = entry::read(name, value, &mut left_out)?;
    let mut writer = Writer::new(selection);
    let first_site = recorded.iter().map(|recorded| site(&recorded.url.host)).next().unwrap_or_default();
    let mut last_end: Option<Timestamp> = None;
    for recorded in &recorded {
        let pause = last_end.map(|end| recorded.started.duration_since(end)).unwrap_or_default();
        let pause = Duration::try_from(pause).unwrap_or_default();
        last_end = Some(last_end.map_or(recorded.ended, |end| end.max(recorded.ended)));
        let is_foreign = site(&recorded.url.host) != first_site;
        if selection == Selection::Safe && is_static(recorded.view()) {
            left_out.static_files += 1;
        } else if selection == Selection::Safe && is_foreign {
            left_out.foreign.insert(recorded.url.host.clone());
        } else if writer.steps() == MAX_STEPS {
            left_out.surplus += 1;
        } else {
            writer.add(recorded, pause)?;
        }
    }
    let (plan, choices) = writer.plan(name, &left_out, &avoided.0);
    if !plan.steps.iter().any(|step| step.is_active()) {
        let problem = "has no request that becomes a step; `--all` takes static files and other sites too";
        return Err(DraftError::at(format!("{name}: log.entries"), problem));
    }
    Ok(Draft { choices, ..render::draft(plan) })
}
