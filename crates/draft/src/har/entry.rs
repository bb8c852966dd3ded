//! The entries of a recording.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::kind::{RequestView, is_of_page, is_report};
use super::left_out::LeftOut;
use crate::error::DraftError;
use crate::url::{SplitUrl, split};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    started_date_time: String,
    /// How long the request took, in milliseconds.
    #[serde(default)]
    time: Option<f64>,
    pub(super) request: RecordedRequest,
    #[serde(default)]
    pub(super) response: RecordedResponse,
    /// What the browser wanted it for.
    #[serde(default, rename = "_resourceType")]
    resource_type: Option<String>,
    /// The cache that answered it.
    #[serde(default, rename = "_fromCache")]
    from_cache: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordedRequest {
    pub(super) method: String,
    url: String,
    #[serde(default)]
    pub(super) headers: Vec<NamedValue>,
    #[serde(default)]
    pub(super) post_data: Option<PostData>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct RecordedResponse {
    #[serde(default)]
    pub(super) status: i64,
    #[serde(default)]
    pub(super) headers: Vec<NamedValue>,
    #[serde(default)]
    pub(super) content: Content,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content {
    #[serde(default)]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) encoding: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct NamedValue {
    pub(super) name: String,
    pub(super) value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(default)]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default, alias = "_encoding")]
    pub(super) encoding: Option<String>,
    #[serde(default)]
    pub(super) params: Vec<PostParameter>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostParameter {
    pub(super) name: String,
    #[serde(default)]
    pub(super) value: Option<String>,
    #[serde(default)]
    pub(super) file_name: Option<String>,
    #[serde(default)]
    pub(super) content_type: Option<String>,
}

/// An entry with its times and its address.
pub(super) struct Recorded {
    pub(super) entry: Entry,
    /// Where it is in the file.
    pub(super) place: String,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) url: SplitUrl,
}

/// All entries that were requests of the page, in the order in which they began.
pub(super) fn read(name: &str, value: &Value, left_out: &mut LeftOut) -> Result<Vec<Recorded>, DraftError> {
    let entries = value.pointer("/log/entries").and_then(Value::as_array);
    let entries = entries.ok_or_else(|| DraftError::at(format!("{name}: log.entries"), "is not a list"))?;
    let mut all = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let place = format!("{name}: log.entries[{index}]");
        let entry = Entry::deserialize(entry).map_err(|error| DraftError::at(&place, error.to_string()))?;
        let has_scheme = |scheme: &str| entry.request.url.to_ascii_lowercase().starts_with(scheme);
        if !(has_scheme("http://") || has_scheme("https://"))
            || !is_of_page(&entry.request.method, entry.response.status)
        {
            left_out.not_sent += 1;
            continue;
        }
        if entry.from_cache.as_ref().is_some_and(|cache| !cache.is_null()) {
            left_out.cached += 1;
            continue;
        }
        if entry.request.post_data.as_ref().is_some_and(|data| is_report(&data.mime_type)) {
            left_out.reports += 1;
            continue;
        }
        let at = |field: &str| format!("{place}.{field}");
        let started: Timestamp = entry.started_date_time.parse().map_err(|_| {
            DraftError::at(at("startedDateTime"), "is not a time such as `2026-01-31T12:00:00.000Z`")
        })?;
        let url = split(&entry.request.url).map_err(|why| DraftError::at(at("request.url"), why))?;
        let took = Duration::try_from_secs_f64(entry.time.unwrap_or_default().max(0.0) / 1000.0);
        let ended = started.checked_add(took.unwrap_or_default()).unwrap_or(started);
        all.push(Recorded { entry, place, started, ended, url });
    }
    all.sort_by_key(|recorded| recorded.started);
    Ok(all)
}

impl Recorded {
    pub(super) fn view(&self) -> RequestView<'_> {
        RequestView {
            path: self.shown_path(),
            resource_type: self.entry.resource_type.as_deref().unwrap_or_default(),
            media_type: &self.entry.response.content.mime_type,
        }
    }

    /// Its path without the query.
    pub(super) fn shown_path(&self) -> &str {
        self.url.path.split('?').next().unwrap_or_default()
    }
}
