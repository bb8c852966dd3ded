//! What `--out` sends while a run goes on, as a receiver decodes it: in the end it has the counts of the run file.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use archive::Stored;
use evidence::run::{Run as _, select};
use evidence::{Metric, Outcome};
use prost::Message;
use testbed::{Behaviour, Site};

use crate::command::{CommandOutput, TestFolder, open, refusal};

/// One request that was received.
struct Received {
    path: String,
    headers: String,
    body: Vec<u8>,
}

/// Receives whatever is posted, and answers with one status.
struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    fn answering(status: &'static str) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = kept.clone();
                std::thread::spawn(move || {
                    let _ = serve(&stream, status, &kept);
                });
            }
        });
        Receiver { address, received }
    }
}

/// Answer the requests of one connection until it ends.
fn serve(stream: &TcpStream, status: &str, kept: &Mutex<Vec<Received>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let lower = head.to_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let mut body = vec![0; length.unwrap()];
        reader.read_exact(&mut body)?;
        let path = head.split(' ').nth(1).unwrap().to_owned();
        kept.lock().unwrap().push(Received { path, headers: lower, body });
        write!(&mut &*stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")?;
    }
}

#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// A run of two seconds that sends its series, and fails one time in five.
fn run(out: &str) -> (TestFolder, CommandOutput) {
    let site = Site::new().at("/x", Behaviour::error_rate(5, 500)).otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 2));
    let asked = ["run", "plan.toml", "--quiet", "-o", "run.plimsoll", "--out", out];
    let ran = folder.plimsoll_after("export PLIMSOLL_OUT_HEADERS='authorization=Bearer 5ecret'", &asked);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (folder, ran)
}

/// How many requests of the run ended so, by the run file.
fn responses(folder: &TestFolder) -> BTreeMap<String, u64> {
    let run = Stored::open(&folder.path("run.plimsoll")).unwrap();
    let mut counts = BTreeMap::new();
    for (id, key) in select(run.keys(), Metric::ResponseTime, |_| true) {
        let outcome: Outcome = key.outcome.unwrap();
        *counts.entry(outcome.to_string()).or_default() += run.histogram(id, run.whole()).unwrap().count();
    }
    counts
}

#[test]
fn prometheus_remote_write_delivers_the_counts_of_the_run() {
    let receiver = Receiver::answering("204 No Content");
    let (folder, ran) = run(&format!("prometheus-remote-write=http://{}/api/v1/write", receiver.address));
    assert_eq!(ran.stderr, "");
    let received = receiver.received.lock().unwrap();
    let mut last: BTreeMap<Vec<(String, String)>, Vec<Sample>> = BTreeMap::new();
    for Received { path, headers, body } in received.iter() {
        assert_eq!(path, "/api/v1/write");
        for header in [
            "content-encoding: snappy",
            "content-type: application/x-protobuf",
            "x-prometheus-remote-write-version: 0.1.0",
            "authorization: bearer 5ecret",
        ] {
            assert!(headers.contains(header), "{headers}");
        }
        let bytes = snap::raw::Decoder::new().decompress_vec(body).unwrap();
        for series in WriteRequest::decode(&bytes[..]).unwrap().timeseries {
            let labels: Vec<_> = series.labels.into_iter().map(|label| (label.name, label.value)).collect();
            assert!(labels.is_sorted(), "{labels:?}");
            last.entry(labels).or_default().extend(series.samples);
        }
    }
    assert!(received.len() >= 2);
    let made_now = tempfile::NamedTempFile::new().unwrap();
    let now = made_now.as_file().metadata().unwrap().modified().unwrap();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let latest = last.values().flatten().map(|sample| sample.timestamp).max().unwrap();
    assert!(u128::try_from(latest).unwrap() <= now, "the last state is dated in the future");
    let mut counts = BTreeMap::new();
    for (labels, samples) in &last {
        assert!(samples.is_sorted_by(|a, b| a.timestamp < b.timestamp), "{labels:?}: {samples:?}");
        let label =
            |name: &str| labels.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        if label("__name__").as_deref() == Some("plimsoll_response_time_seconds_count") {
            assert!(samples.is_sorted_by(|a, b| a.value <= b.value), "{samples:?}");
            assert_eq!(
                (label("scenario").as_deref(), label("endpoint").as_deref()),
                (Some("load"), Some("get"))
            );
            counts.insert(label("outcome").unwrap(), samples.last().unwrap().value as u64);
        }
    }
    assert_eq!(counts, responses(&folder));
    let named = |name: &str| {
        let is_it = |labels: &[(String, String)]| labels.contains(&("__name__".to_owned(), name.to_owned()));
        let found = last.iter().find(|(labels, _)| is_it(labels));
        found.unwrap_or_else(|| panic!("no {name}")).1
    };
    // Nothing was dropped: the counters are there all the same, from the first second on.
    for name in ["plimsoll_dropped_cap_total", "plimsoll_dropped_late_total"] {
        assert_eq!(named(name).len(), received.len(), "{name}");
        assert!(named(name).iter().all(|sample| sample.value == 0.0), "{name}");
    }
    let started = named("plimsoll_started_total").last().unwrap().value;
    assert_eq!(named("plimsoll_start_lag_seconds_count").last().unwrap().value, started);
    assert!(named("plimsoll_generator_cpu_cores").iter().any(|sample| sample.value > 0.0));
    let bytes = std::fs::read(folder.path("run.plimsoll")).unwrap();
    assert!(!bytes.windows(7).any(|part| part == b"5ecret\"" || part == b" 5ecret"), "the secret is stored");
}

/// A message with the field numbers of OpenTelemetry's interface: only what is compared.
mod otlp {
    use prost::Message;

    macro_rules! message {
        ($name:ident { $($tag:literal $field:ident: $kind:ident $type:ty),* }) => {
            #[derive(Clone, PartialEq, Message)]
            pub(super) struct $name { $(#[prost($kind, repeated, tag = $tag)] pub(super) $field: Vec<$type>),* }
        };
    }
    message!(Request { "1" resources: message Resources });
    message!(Resources { "2" scopes: message Scopes });
    message!(Scopes { "2" metrics: message Metric });
    message!(Metric { "1" name: string String, "5" gauges: message Gauge, "9" histograms: message Histogram });
    message!(Gauge { "1" points: message Number });
    message!(Number { "4" values: double f64 });
    message!(Histogram { "1" points: message Point });
    message!(Point { "9" attributes: message Attribute, "4" counts: fixed64 u64, "6" buckets: fixed64 u64 });
    message!(Attribute { "1" keys: string String, "2" values: message AnyValue });
    message!(AnyValue { "1" texts: string String });
}

#[test]
fn opentelemetry_receives_the_counts_of_the_run() {
    let receiver = Receiver::answering("200 OK");
    let (folder, ran) = run(&format!("otlp=http://{}", receiver.address));
    assert_eq!(ran.stderr, "");
    let received = receiver.received.lock().unwrap();
    assert!(received.iter().all(|received| received.path == "/v1/metrics"));
    let last = otlp::Request::decode(&received.last().unwrap().body[..]).unwrap();
    let metrics =
        last.resources.iter().flat_map(|resource| &resource.scopes).flat_map(|scope| &scope.metrics);
    let metrics: Vec<_> = metrics.collect();
    let in_flight = metrics.iter().find(|metric| metric.name == ["plimsoll_in_flight"]).unwrap();
    assert_eq!(in_flight.gauges[0].points[0].values, [0.0], "a level of 0 is a value");
    let times: Vec<_> =
        metrics.into_iter().filter(|metric| metric.name == ["plimsoll_response_time_seconds"]).collect();
    assert_eq!(times.len(), 1, "one metric of a name");
    let mut counts = BTreeMap::new();
    for point in times[0].histograms.iter().flat_map(|histogram| &histogram.points) {
        let outcome = point.attributes.iter().find(|attribute| attribute.keys == ["outcome"]).unwrap();
        assert_eq!(point.buckets.iter().sum::<u64>(), point.counts[0]);
        counts.insert(outcome.values[0].texts[0].clone(), point.counts[0]);
    }
    assert_eq!(counts, responses(&folder));
}

#[test]
fn a_receiver_that_refuses_or_is_gone_costs_the_run_nothing_and_is_reported() {
    let refusing = Receiver::answering("400 Bad Request");
    let (folder, ran) = run(&format!("prometheus-remote-write=http://{}/api/v1/write", refusing.address));
    ran.stderr_contains(&["prometheus-remote-write:", "status 400", "seconds were not delivered"]);
    assert_eq!(responses(&folder).values().sum::<u64>(), 100);
    let gone = refusal();
    let (folder, ran) = run(&format!("otlp=http://{}", gone.addr()));
    ran.stderr_contains(&["otlp:", "seconds were not delivered"]);
    assert_eq!(responses(&folder).values().sum::<u64>(), 100);
    assert!(!ran.stderr.contains("5ecret"));
}

#[test]
fn a_place_that_cannot_be_used_is_reported_before_anything_is_sent() {
    let folder = TestFolder::new(&open(([127, 0, 0, 1], 1).into(), 1));
    let out = |out: &str| folder.plimsoll(&["run", "plan.toml", "--out", out]);
    out("statsd=http://x").exits_with(2).stderr_contains(&["prometheus-remote-write=URL", "otlp=URL"]);
    out("otlp=collector:4318").exits_with(2).stderr_contains(&["http://", "https://"]);
}

#[test]
fn each_receiver_gets_its_own_headers_alone() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let receivers = [Receiver::answering("204 No Content"), Receiver::answering("200 OK")];
    let [first, second] = &receivers;
    let outs = [
        format!("prometheus-remote-write=http://{}/api/v1/write", first.address),
        format!("otlp=http://{}", second.address),
    ];
    let folder = TestFolder::new(&open(target.addr(), 1));
    let asked = [
        "run",
        "plan.toml",
        "--quiet",
        "--force",
        "-o",
        "run.plimsoll",
        "--out",
        &outs[0],
        "--out",
        &outs[1],
    ];
    let shared = "export PLIMSOLL_OUT_HEADERS='authorization=Bearer 5ecret'";
    folder.plimsoll_after(shared, &asked).exits_with(2).stderr_contains(&["PLIMSOLL_OUT_HEADERS_1"]);
    assert!(receivers.iter().all(|receiver| receiver.received.lock().unwrap().is_empty()));
    let own = "export PLIMSOLL_OUT_HEADERS_1='x-own=one' PLIMSOLL_OUT_HEADERS_2='x-own=two' OTEL_EXPORTER_OTLP_HEADERS='x-otlp=three'";
    folder.plimsoll_after(own, &asked).exits_with(0);
    let headers = receivers.map(|receiver| receiver.received.lock().unwrap()[0].headers.clone());
    let has = |number: usize, header: &str| headers[number].contains(header);
    assert!(has(0, "x-own: one") && !has(0, "x-own: two") && !has(0, "x-otlp"), "{headers:?}");
    assert!(has(1, "x-own: two") && !has(1, "x-own: one") && has(1, "x-otlp: three"), "{headers:?}");
}
