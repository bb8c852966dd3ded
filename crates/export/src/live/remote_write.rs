//! Prometheus remote write, version 1.0 (<https://prometheus.io/docs/specs/prw/remote_write_spec/>): protobuf, compressed by
//! snappy's block format.

use prost::Message;

use super::EncodeError;
use super::totals::{BOUNDS_S, Batch, Label, Point, Value};

#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<LabelPair>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    /// In milliseconds since 1970.
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// The headers of a request.
pub(super) const HEADERS: [(&str, &str); 3] = [
    ("content-type", "application/x-protobuf"),
    ("content-encoding", "snappy"),
    ("x-prometheus-remote-write-version", "0.1.0"),
];

/// The body of a request.
pub(super) fn body(batch: &Batch) -> Result<Vec<u8>, EncodeError> {
    let timeseries = batch.points.iter().flat_map(|point| series(point, batch.unix_ms)).collect();
    let message = WriteRequest { timeseries }.encode_to_vec();
    Ok(snap::raw::Encoder::new().compress_vec(&message)?)
}

fn series(point: &Point, timestamp: i64) -> Vec<TimeSeries> {
    let one = |suffix: &str, bound: Option<String>, value: f64| {
        let name = ("__name__", format!("{}{suffix}", point.name));
        let own = point.labels.iter().cloned();
        let mut labels: Vec<Label> = own.chain([name]).chain(bound.map(|bound| ("le", bound))).collect();
        labels.sort();
        let pair = |(name, value): Label| LabelPair { name: name.to_owned(), value };
        let labels = labels.into_iter().map(pair).collect();
        TimeSeries { labels, samples: vec![Sample { value, timestamp }] }
    };
    match &point.value {
        Value::Count(count) => vec![one("_total", None, *count as f64)],
        Value::Level(level) => vec![one("", None, *level)],
        Value::Times(times) => {
            let within = times.within.iter().zip(BOUNDS_S);
            let bucket =
                |(count, bound): (&u64, &f64)| one("_bucket", Some(format!("{bound:?}")), *count as f64);
            let mut all: Vec<_> = within.map(bucket).collect();
            all.push(one("_bucket", Some("+Inf".to_owned()), times.count as f64));
            all.push(one("_count", None, times.count as f64));
            all.push(one("_sum", None, times.sum_s));
            all
        }
    }
}
