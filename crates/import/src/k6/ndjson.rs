//! `k6 run --out json=FILE`: the definition of each metric once, then one point per line.

use std::borrow::Cow;
use std::io::BufRead;

use serde::Deserialize;

use super::points::RequestPoints;
use super::{MetricPoint, Tags, receive};
use crate::ImportError;
use crate::event::Receive;
use crate::lines::{LineError, Reading, for_each_line};
use crate::parse::rfc3339;

#[derive(Deserialize)]
struct NdjsonLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metric: Cow<'a, str>,
    #[serde(borrow)]
    data: PointData<'a>,
}

#[derive(Deserialize)]
struct PointData<'a> {
    #[serde(borrow, default)]
    time: Option<Cow<'a, str>>,
    #[serde(default)]
    value: Option<f64>,
    #[serde(borrow, default)]
    tags: Option<Tags<'a>>,
}

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut points = RequestPoints::default();
    let reading = for_each_line(input, |text| {
        let line: NdjsonLine<'_> =
            serde_json::from_slice(text).map_err(|error| LineError::Malformed(error.to_string()))?;
        if line.kind != "Point" {
            return Ok(());
        }
        let (Some(time), Some(value)) = (line.data.time, line.data.value) else {
            return Err("a point without time or value".into());
        };
        let tags = line.data.tags.unwrap_or_default();
        let point = MetricPoint { metric: &line.metric, at: rfc3339(&time)?, value, tags };
        receive(&point, &mut points, receiver)
    })?;
    points.finish(receiver)?;
    Ok(reading)
}
