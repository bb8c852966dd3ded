//! Samples as a `telemetry.TelemetryBatch`.

use std::borrow::Cow;
use std::iter;

use prost::{Message as _, decode_length_delimiter as varint};

use super::{BodyError, Limits, ParsedSamples};
use crate::instant;
use crate::proto::{Priority as WirePriority, TelemetryBatch, TelemetrySample};
use crate::sample::{Invalid, Priority, Sample, name, unit, value};

/// The type of a sample without one.
const KIND: &str = "measurement";
/// The key of a batch's sample: field 1, with a length.
const SAMPLE: usize = 1 << 3 | 2;

pub(super) fn read(body: &[u8], limits: Limits) -> Result<ParsedSamples<'_>, BodyError> {
    // Counted before they are decoded: an empty sample has 2 bytes in the body, and 80 in memory.
    let mut rest = body;
    if iter::from_fn(|| skip_field(&mut rest)).filter(|key| *key == SAMPLE).nth(limits.batch).is_some() {
        return Err(BodyError::TooMany(limits.batch));
    }
    let batch = TelemetryBatch::decode(body).map_err(|error| BodyError::Malformed(error.to_string()))?;
    let device_id = name("device_id", Cow::Owned(batch.device_id));
    let check = |sample| match &device_id {
        Ok(device_id) => check(sample, limits)
            .map(|sample| Sample { device_id: device_id.clone(), ..sample })
            .map_err(|invalid| Invalid { device_id: Some(device_id.clone().into_owned()), ..invalid }),
        Err(invalid) => Err(invalid.clone()),
    };
    Ok(batch.samples.into_iter().map(check).collect())
}

/// Skips a field of a message and returns its key, which has the field's number and, in the lowest three bits, the type
/// of its value; `None` at the end. Where the body is malformed it ends as well: decoding it fails there.
fn skip_field(rest: &mut &[u8]) -> Option<usize> {
    let key = varint(&mut *rest).ok()?;
    let length = match key & 7 {
        0 => varint(&mut *rest).map(|_value| 0).ok()?,
        1 => 8,
        2 => varint(&mut *rest).ok()?,
        // A group begins or ends: its fields follow.
        3 | 4 => 0,
        5 => 4,
        _ => return None,
    };
    *rest = rest.get(length..)?;
    Some(key)
}

/// The sample without its device.
fn check<'a>(sample: TelemetrySample, limits: Limits) -> Result<Sample<'a>, Invalid> {
    let priority = match WirePriority::try_from(sample.priority) {
        Ok(WirePriority::High) => Priority::High,
        Ok(WirePriority::Medium | WirePriority::Unspecified) => Priority::Medium,
        Ok(WirePriority::Low) => Priority::Low,
        Err(_) => return Err(Invalid::fixed("priority", "must be HIGH, MEDIUM or LOW")),
    };
    let kind =
        if sample.r#type.is_empty() { Cow::Borrowed(KIND) } else { name("type", Cow::Owned(sample.r#type))? };
    let value = value(sample.value, limits.value)?;
    let unit = unit(Cow::Owned(sample.unit))?;
    // Zero, the default in protobuf, means that no time was sent.
    let sent_us = (sample.timestamp_us > 0).then_some(sample.timestamp_us);
    let timestamp = sent_us.and_then(instant::text);
    let timestamp =
        timestamp.ok_or(Invalid::fixed("timestamp_us", "must lie between the years 1970 and 9999"))?;
    Ok(Sample {
        device_id: Cow::Borrowed(""),
        kind,
        value,
        unit,
        priority,
        timestamp: Cow::Owned(timestamp),
        sequence: sample.sequence_id,
        metadata: Vec::new(),
    })
}
