//! A builder of workloads for tests.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use engine::Program;
use workload::call::CallOptions;
use workload::{
    Arrivals, Connecting, DataFrom, DataSource, Executor, Expect, Extract, ExtractFrom, Flow, GrpcOrigin,
    HttpOrigin, Phase, Pick, Request, Scenario, Schemas, Scheme, Stage, Step, Table, Target, Template,
    TlsFiles, Weighted, Workload,
};
use workload::{FilesInMemory, LoadedPlan};

/// The target of [`get`] and [`post`].
pub(crate) const WEB: &str = "web";
/// The target of [`call`].
pub(crate) const RPC: &str = "rpc";
/// Methods of the service `bed.Bed`, all from `Text` to `Text`.
pub(crate) const METHODS: [&str; 12] = [
    "Good", "Slow", "Coded", "Trailers", "Reset", "Refused", "Leave", "Abort", "Never", "Half", "Garbage",
    "Proxy",
];

/// Methods of `bed.Bed` that stream.
const STREAMS: &str = "rpc Ticks(Text) returns (stream Text); rpc Talk(stream Text) returns (stream Text); \
                       rpc Gather(stream Text) returns (Text);";

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A workload that is being built: one phase named `all` unless others are set.
pub(crate) struct Plan {
    pub(crate) workload: Workload,
    tables: BTreeMap<String, Table>,
    schemas: Schemas,
    tls: BTreeMap<String, TlsFiles>,
}

impl Plan {
    pub(crate) fn new() -> Self {
        let workload = Workload {
            profiles: Vec::new(),
            name: "truth".to_owned(),
            seed: 7,
            targets: BTreeMap::new(),
            data: BTreeMap::new(),
            phases: vec![Phase { name: "all".to_owned(), start: Duration::ZERO, end: ms(3_600_000) }],
            scenarios: Vec::new(),
            interleaved: None,
            setup: Vec::new(),
            objectives: Vec::new(),
            family: None,
            until_decided: None,
            leak_margin: None,
            precheck: false,
            traceparent: false,
            secrets: Vec::new(),
        };
        Plan { workload, tables: BTreeMap::new(), schemas: Schemas::default(), tls: BTreeMap::new() }
    }

    /// A plan whose HTTP steps are sent to `web`.
    pub(crate) fn of(web: SocketAddr) -> Self {
        Plan::new().http(WEB, web)
    }

    pub(crate) fn http(mut self, name: &str, addr: SocketAddr) -> Self {
        let origin = HttpOrigin {
            scheme: Scheme::Http,
            host: addr.ip().to_string(),
            port: addr.port(),
            base_path: String::new(),
        };
        self.workload.targets.entry(name.to_owned()).or_default().http = Some(origin);
        self
    }

    /// A gRPC target with the service `bed.Bed`, with one connection.
    pub(crate) fn grpc(mut self, name: &str, addr: SocketAddr) -> Self {
        let origin = GrpcOrigin {
            scheme: Scheme::Http,
            host: addr.ip().to_string(),
            port: addr.port(),
            proto: vec!["bed.proto".to_owned()],
        };
        let connecting = Connecting { connections: Some(1), ..Connecting::default() };
        plans::descriptions::load(&mut self.schemas, name, &[PathBuf::from("bed.proto")], &[], &bed_proto())
            .unwrap();
        self.workload
            .targets
            .insert(name.to_owned(), Target { grpc: Some(origin), connecting, ..Target::default() });
        self
    }

    /// Use TLS for a target, and trust this authority (PEM).
    pub(crate) fn secure(mut self, name: &str, ca: &str) -> Self {
        let target = self.workload.targets.get_mut(name).unwrap();
        target.http.iter_mut().for_each(|origin| origin.scheme = Scheme::Https);
        target.grpc.iter_mut().for_each(|origin| origin.scheme = Scheme::Https);
        self.tls.entry(name.to_owned()).or_default().ca = Some(ca.as_bytes().to_vec());
        self
    }

    /// Send this client certificate with this key (PEM) to a target.
    pub(crate) fn client_certificate(mut self, name: &str, cert: &str, key: &str) -> Self {
        let files = self.tls.entry(name.to_owned()).or_default();
        (files.cert, files.key) = (Some(cert.as_bytes().to_vec()), Some(key.as_bytes().to_vec()));
        self
    }

    /// Change the connection settings of a target.
    pub(crate) fn connecting(mut self, name: &str, change: impl FnOnce(&mut Connecting)) -> Self {
        change(&mut self.workload.targets.get_mut(name).unwrap().connecting);
        self
    }

    pub(crate) fn scenario(mut self, scenario: Scenario) -> Self {
        self.workload.scenarios.push(scenario);
        self
    }

    /// Phases of these lengths, instead of the one phase.
    pub(crate) fn phases(mut self, phases: &[(&str, Duration)]) -> Self {
        let mut start = Duration::ZERO;
        let phase = |(name, length): &(&str, Duration)| {
            let end = start + *length;
            let phase = Phase { name: (*name).to_owned(), start, end };
            start = end;
            phase
        };
        self.workload.phases = phases.iter().map(phase).collect();
        self
    }

    /// Rows with the column `id` from a pattern such as `user-{1..100}`.
    pub(crate) fn data(mut self, name: &str, pattern: &str, pick: Pick) -> Self {
        let table = Table::generate(pattern).unwrap();
        let source = DataSource { from: DataFrom::Generate(pattern.to_owned()), pick, rows: table.rows() };
        self.workload.data.insert(name.to_owned(), source);
        self.tables.insert(name.to_owned(), table);
        self
    }

    /// Steps sent once before the load.
    pub(crate) fn setup(mut self, steps: Vec<Step>) -> Self {
        self.workload.setup = steps;
        self
    }

    pub(crate) fn compile(self) -> Program {
        self.compile_with(&[])
    }

    /// With these environment variables.
    pub(crate) fn compile_with(self, env: &[(&str, &str)]) -> Program {
        let Plan { workload, tables, schemas, tls } = self;
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Program::compile(LoadedPlan { workload, tables, schemas, tls, env }).unwrap()
    }
}

/// `bed.proto`, with the methods of the testbed.
fn bed_proto() -> FilesInMemory {
    let methods: String = METHODS.iter().map(|m| format!("rpc {m}(Text) returns (Text);")).collect();
    let text = format!(
        "syntax = \"proto3\"; package bed; message Text {{ string text = 1; int32 number = 2; }} \
         service Bed {{ {methods} {STREAMS} }}"
    );
    FilesInMemory::one("bed.proto", text)
}

/// A scenario of an executor and a flow, with at most 500 virtual users and a graceful stop of 10 s.
pub(crate) fn scenario(name: &str, executor: Executor, flow: Flow) -> Scenario {
    Scenario {
        name: name.to_owned(),
        executor,
        start: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 500,
        arrivals: Arrivals::Even,
        graceful_stop: ms(10_000),
        tags: BTreeMap::new(),
        setup: Vec::new(),
        flow,
    }
}

pub(crate) fn at_rate(rate: f64, duration: Duration) -> Executor {
    Executor::ConstantArrivalRate { rate, duration }
}

pub(crate) fn ramp(start_rate: f64, stages: &[(f64, Duration)]) -> Executor {
    let stages = stages.iter().map(|(to, over)| Stage { to: *to, over: *over }).collect();
    Executor::RampingArrivalRate { start_rate, stages }
}

pub(crate) fn closed(vus: u32, duration: Duration) -> Executor {
    Executor::ConstantVus { vus, duration }
}

pub(crate) fn sequence(steps: impl Into<Vec<Step>>) -> Flow {
    Flow::Sequence(steps.into())
}

pub(crate) fn mix(steps: impl IntoIterator<Item = (u32, Step)>) -> Flow {
    Flow::Mix(steps.into_iter().map(|(weight, step)| Weighted { weight, step }).collect())
}

fn template(text: &str) -> Template {
    Template::parse(text).unwrap()
}

fn step(name: &str, request: Request) -> Step {
    Step {
        name: name.to_owned(),
        request,
        timeout: ms(30_000),
        think: workload::Think::default(),
        expect: Expect::default(),
        extract: Vec::new(),
    }
}

/// A request without a body to the target [`WEB`].
pub(crate) fn request(method: &str, name: &str, path: &str) -> Step {
    let request = Request::Http {
        target: WEB.to_owned(),
        method: method.to_owned(),
        path: template(path),
        headers: Vec::new(),
        body: Template::default(),
        options: Default::default(),
    };
    step(name, request)
}

pub(crate) fn get(name: &str, path: &str) -> Step {
    request("GET", name, path)
}

/// A call of `bed.Bed/METHOD` at the target [`RPC`], named after the method.
pub(crate) fn call(method: &str, text: &str) -> Step {
    let request = Request::Grpc {
        target: RPC.to_owned(),
        method: format!("bed.Bed/{method}"),
        metadata: Vec::new(),
        message: serde_json::json!({ "text": text }),
        call: CallOptions::default(),
    };
    step(method, request)
}

/// Changes to a step.
pub(crate) trait Tuned {
    fn at(self, other: &str) -> Step;
    fn header(self, name: &str, value: &str) -> Step;
    fn body(self, text: &str) -> Step;
    fn within(self, timeout: Duration) -> Step;
    fn streaming(self, options: CallOptions) -> Step;
    fn take(self, name: &str, path: &str) -> Step;
}

impl Tuned for Step {
    /// The same, to another target.
    fn at(mut self, other: &str) -> Step {
        match &mut self.request {
            Request::Http { target, .. } | Request::Grpc { target, .. } => *target = other.to_owned(),
        }
        self
    }

    fn header(mut self, name: &str, value: &str) -> Step {
        match &mut self.request {
            Request::Http { headers: fields, .. } | Request::Grpc { metadata: fields, .. } => {
                fields.push((name.to_owned(), template(value)));
            }
        }
        self
    }

    fn body(mut self, text: &str) -> Step {
        if let Request::Http { body, .. } = &mut self.request {
            *body = template(text);
        }
        self
    }

    fn streaming(mut self, options: CallOptions) -> Step {
        if let Request::Grpc { call, .. } = &mut self.request {
            *call = options;
        }
        self
    }

    fn within(self, timeout: Duration) -> Step {
        Step { timeout, ..self }
    }

    /// Extract the value at a JSON path of the response.
    fn take(mut self, name: &str, path: &str) -> Step {
        self.extract.push(Extract { name: name.to_owned(), from: ExtractFrom::Json(path.to_owned()) });
        self
    }
}
