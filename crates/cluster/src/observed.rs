//! What a worker's observers saw, as a message.

use std::str::FromStr as _;

use evidence::{Instance, Instant, Notice, NoticeKind, Observed, Sample, SeriesKey};
use serde::{Deserialize, Serialize};

use crate::ClusterError;

#[derive(Serialize, Deserialize)]
struct Seen {
    samples: Vec<(SeriesKey, Sample)>,
    notices: Vec<SeenNotice>,
}

#[derive(Serialize, Deserialize)]
struct SeenNotice {
    at: Instant,
    observer: String,
    kind: String,
    text: String,
}

/// Append the message. Profiles are captured by the coordinator alone.
pub(crate) fn write(observed: &Observed, to: &mut Vec<u8>) {
    let notice = |notice: &Notice| SeenNotice {
        at: notice.at,
        observer: notice.observer.clone(),
        kind: notice.kind.to_string(),
        text: notice.text.clone(),
    };
    let samples = observed.samples.iter().filter(|(_, sample)| sample.value.is_finite()).cloned().collect();
    let seen = Seen { samples, notices: observed.notices.iter().map(notice).collect() };
    // Writing JSON to memory does not fail: these types have no other keys than texts.
    let _ = serde_json::to_writer(to, &seen);
}

/// Read the message; what it contains is about `worker`.
pub(crate) fn read(message: &[u8], worker: Instance) -> Result<Observed, ClusterError> {
    let seen: Seen =
        serde_json::from_slice(message).map_err(|error| ClusterError::malformed(error.to_string()))?;
    let notice = |notice: SeenNotice| {
        let kind =
            NoticeKind::from_str(&notice.kind).map_err(|error| ClusterError::malformed(error.to_string()))?;
        let SeenNotice { at, observer, text, .. } = notice;
        Ok(Notice { at, observer, instance: Some(worker), kind, text })
    };
    let samples = seen.samples.into_iter().map(|(key, sample)| (key.instance(worker), sample)).collect();
    let notices = seen.notices.into_iter().map(notice).collect::<Result<_, ClusterError>>()?;
    Ok(Observed { samples, notices, profiles: Vec::new() })
}
