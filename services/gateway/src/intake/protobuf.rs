//! Samples as a `telemetry.TelemetryBatch`.

use super::{Limits, Read, Unreadable};
use crate::instant;
use crate::proto::{Priority as Told, TelemetryBatch, TelemetrySample};
use crate::sample::{Invalid, Priority, Sample, name, unit, value};
use prost::Message as _;
use std::borrow::Cow;

/// What a sample without a type is called.
const KIND: &str = "measurement";

pub(super) fn read(body: &[u8], limits: Limits) -> Result<Read<'_>, Unreadable> {
    let batch = TelemetryBatch::decode(body).map_err(|error| Unreadable::Malformed(error.to_string()))?;
    if batch.samples.len() > limits.batch {
        return Err(Unreadable::TooMany(limits.batch));
    }
    let device_id = name("device_id", Cow::Owned(batch.device_id));
    let check = |sample| match &device_id {
        Ok(device_id) => check(sample, limits)
            .map(|sample| Sample { device_id: device_id.clone(), ..sample })
            .map_err(|wrong| Invalid { device_id: Some(device_id.clone().into_owned()), ..wrong }),
        Err(wrong) => Err(wrong.clone()),
    };
    Ok(batch.samples.into_iter().map(check).collect())
}

/// The sample but for whose it is.
fn check<'a>(told: TelemetrySample, limits: Limits) -> Result<Sample<'a>, Invalid> {
    let priority = match Told::try_from(told.priority) {
        Ok(Told::High) => Priority::High,
        Ok(Told::Medium | Told::Unspecified) => Priority::Medium,
        Ok(Told::Low) => Priority::Low,
        Err(_) => return Err(Invalid::fixed("priority", "must be HIGH, MEDIUM or LOW")),
    };
    let kind =
        if told.r#type.is_empty() { Cow::Borrowed(KIND) } else { name("type", Cow::Owned(told.r#type))? };
    let value = value(told.value, limits.value)?;
    let unit = unit(Cow::Owned(told.unit))?;
    // The default of the wire, zero, is a time that no sample has.
    let told_us = (told.timestamp_us > 0).then_some(told.timestamp_us);
    let timestamp = told_us.and_then(instant::text);
    let timestamp =
        timestamp.ok_or(Invalid::fixed("timestamp_us", "must lie between the years 1970 and 9999"))?;
    Ok(Sample {
        device_id: Cow::Borrowed(""),
        kind,
        value,
        unit,
        priority,
        timestamp: Cow::Owned(timestamp),
        sequence: told.sequence_id,
        metadata: Vec::new(),
    })
}
