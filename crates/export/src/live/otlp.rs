//! OpenTelemetry metrics: OTLP over HTTP, as protobuf (<https://opentelemetry.io/docs/specs/otlp/>). Of its messages the
//! fields that are sent, with the numbers of `opentelemetry/proto/metrics/v1/metrics.proto`, version 1.

use prost::{Message, Oneof};

use super::totals::{BOUNDS_S, Batch, Point, Value};

#[derive(Clone, PartialEq, Message)]
struct ExportMetricsServiceRequest {
    #[prost(message, repeated, tag = "1")]
    resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    metrics: Vec<MetricData>,
}

#[derive(Clone, PartialEq, Message)]
struct InstrumentationScope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct MetricData {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(oneof = "Data", tags = "5, 7, 9")]
    data: Option<Data>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Data {
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    #[prost(message, tag = "7")]
    Sum(Sum),
    #[prost(message, tag = "9")]
    Histogram(Histogram),
}

#[derive(Clone, PartialEq, Message)]
struct Gauge {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberDataPoint>,
}

#[derive(Clone, PartialEq, Message)]
struct Sum {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberDataPoint>,
    #[prost(int32, tag = "2")]
    aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<HistogramDataPoint>,
    #[prost(int32, tag = "2")]
    aggregation_temporality: i32,
}

#[derive(Clone, PartialEq, Message)]
struct NumberDataPoint {
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    /// A zero is sent too: a point without it has no value.
    #[prost(double, optional, tag = "4")]
    as_double: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct HistogramDataPoint {
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    count: u64,
    #[prost(double, optional, tag = "5")]
    sum: Option<f64>,
    #[prost(fixed64, repeated, tag = "6")]
    bucket_counts: Vec<u64>,
    #[prost(double, repeated, tag = "7")]
    explicit_bounds: Vec<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
struct AnyValue {
    /// Empty texts are sent too: without a value an attribute has none.
    #[prost(string, optional, tag = "1")]
    string_value: Option<String>,
}

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: i32 = 2;

/// The headers of a request.
pub(super) const HEADERS: [(&str, &str); 1] = [("content-type", "application/x-protobuf")];

/// The body of a request.
pub(super) fn body(batch: &Batch) -> Vec<u8> {
    let scope =
        InstrumentationScope { name: "plimsoll".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    let mut metrics: Vec<MetricData> = Vec::new();
    for point in &batch.points {
        let times = Times { start: nanos(batch.start_unix_ms), end: nanos(batch.unix_ms) };
        let new = metric(point, times);
        match metrics.iter_mut().find(|known| known.name == new.name) {
            Some(known) => add(known, new),
            None => metrics.push(new),
        }
    }
    let resource = Resource { attributes: vec![attribute("service.name", "plimsoll")] };
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics }];
    let all = ResourceMetrics { resource: Some(resource), scope_metrics };
    ExportMetricsServiceRequest { resource_metrics: vec![all] }.encode_to_vec()
}

#[derive(Clone, Copy)]
struct Times {
    start: u64,
    end: u64,
}

fn nanos(unix_ms: i64) -> u64 {
    u64::try_from(unix_ms).unwrap_or_default() * 1_000_000
}

fn metric(point: &Point, times: Times) -> MetricData {
    let attributes: Vec<_> = point.labels.iter().map(|(name, value)| attribute(name, value)).collect();
    let number = |as_double: f64| NumberDataPoint {
        attributes: attributes.clone(),
        start_time_unix_nano: times.start,
        time_unix_nano: times.end,
        as_double: Some(as_double),
    };
    let (unit, data) = match &point.value {
        Value::Level(level) => ("1", Data::Gauge(Gauge { data_points: vec![number(*level)] })),
        Value::Count(count) => {
            let data_points = vec![number(*count as f64)];
            let (aggregation_temporality, is_monotonic) = (CUMULATIVE, true);
            ("1", Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic }))
        }
        Value::Times(so_far) => {
            let upper = so_far.within.iter().copied().chain([so_far.count]);
            let lower = [0].into_iter().chain(so_far.within);
            let data_point = HistogramDataPoint {
                attributes: attributes.clone(),
                start_time_unix_nano: times.start,
                time_unix_nano: times.end,
                count: so_far.count,
                sum: Some(so_far.sum_s),
                bucket_counts: upper.zip(lower).map(|(upper, lower)| upper - lower).collect(),
                explicit_bounds: BOUNDS_S.to_vec(),
            };
            let data_points = vec![data_point];
            ("s", Data::Histogram(Histogram { data_points, aggregation_temporality: CUMULATIVE }))
        }
    };
    MetricData { name: point.name.to_string(), unit: unit.to_owned(), data: Some(data) }
}

/// Add the points of a metric to those of the same name.
fn add(known: &mut MetricData, new: MetricData) {
    match (&mut known.data, new.data) {
        (Some(Data::Gauge(known)), Some(Data::Gauge(new))) => known.data_points.extend(new.data_points),
        (Some(Data::Sum(known)), Some(Data::Sum(new))) => known.data_points.extend(new.data_points),
        (Some(Data::Histogram(known)), Some(Data::Histogram(new))) => {
            known.data_points.extend(new.data_points);
        }
        _ => {}
    }
}

fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { string_value: Some(value.to_owned()) };
    KeyValue { key: key.to_owned(), value: Some(value) }
}
