//! `k6 run --out json=FILE`: a metric's definition once, then a point a line.

use std::borrow::Cow;
use std::io::BufRead;

use serde::Deserialize;

use super::{Point, Tags, receive};
use crate::ImportError;
use crate::event::Receive;
use crate::lines::{Fault, Reading, each};
use crate::survey::rfc3339;

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metric: Cow<'a, str>,
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow, default)]
    time: Option<Cow<'a, str>>,
    #[serde(default)]
    value: Option<f64>,
    #[serde(borrow, default)]
    tags: Option<PointTags<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct PointTags<'a> {
    #[serde(borrow)]
    scenario: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    status: Cow<'a, str>,
    #[serde(borrow)]
    error_code: Cow<'a, str>,
    #[serde(borrow)]
    expected_response: Cow<'a, str>,
    #[serde(borrow)]
    check: Cow<'a, str>,
    #[serde(borrow)]
    group: Cow<'a, str>,
}

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    each(input, |text| {
        let line: Line<'_> =
            serde_json::from_slice(text).map_err(|error| Fault::Malformed(error.to_string()))?;
        if line.kind != "Point" {
            return Ok(());
        }
        let (Some(time), Some(value)) = (line.data.time, line.data.value) else {
            return Err("a point without time or value".into());
        };
        let tags = line.data.tags.unwrap_or_default();
        let tags = Tags {
            scenario: tags.scenario,
            name: tags.name,
            url: tags.url,
            method: tags.method,
            status: tags.status,
            error_code: tags.error_code,
            expected_response: tags.expected_response,
            check: tags.check,
            group: tags.group,
        };
        receive(&Point { metric: &line.metric, at: rfc3339(&time)?, value, tags }, receiver)
    })
}
