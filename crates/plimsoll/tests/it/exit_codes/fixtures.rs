//! Targets, and the files that the command lines of the table name.

use std::sync::LazyLock;
use std::time::Duration;

use archive::{Overwrite, Stored, Writer};
use evidence::manifest::SCHEMA_VERSION;
use evidence::{
    Ending, Instant, Key, KeyId, Manifest, Metric, Observed, Run as _, RunEnd, Sample, SeriesKey, Sink as _,
    Tick,
};
use profile::{Builder, Frame, ValueType};
use rusqlite::Connection;
use testbed::{Behaviour, GrpcBehaviour, Refusal, Target};
use workload::{Phase, Workload};

use crate::command::{TestFolder, closed, open, refusal};
use crate::imports::fixture;
use crate::kubernetes::{list, with_kubectl};

/// A run file of 20 requests.
const OLD: &[u8] = include_bytes!("../../../../archive/tests/files/version-1.plimsoll");
const PROTO: &str = "syntax = \"proto3\"; package demo; message Word { string text = 1; }\n\
                     service Echo { rpc Say(Word) returns (Word); }";
const FEW_ERRORS: &str = "[objectives]\nfew_errors = \"error_rate(all) < 1%\"\n";
/// Needs more requests than a second has.
const RARE: &str = "[objectives]\nrare = \"p99.9(all) < 10s\"\n";
/// Short probes.
const SEARCH: &str = "step = \"1s\"\nwarm_up = \"0s\"\nlevels = 5\nrepeats = 2\nhold = \"0s\"\noverload = \"0s\"\nrest = \"0s\"\n\
                      from = \"40/s\"\nto = \"60/s\"\n[slo]\nfast = \"p95(get) < 200ms\"\n";

/// What the lines load.
pub(super) struct Targets {
    ok: Target,
    failing: Target,
    echo: Target,
    exhausted: Target,
    gone: Refusal,
}

impl Targets {
    pub(super) fn start() -> Targets {
        let http = |behaviour| testbed::http(behaviour).unwrap();
        let exhausted = GrpcBehaviour::Status { code: 8, message: "slow down".to_owned() };
        Targets {
            ok: http(Behaviour::ok()),
            failing: http(Behaviour::status(500)),
            echo: testbed::grpc(GrpcBehaviour::Echo).unwrap(),
            exhausted: testbed::grpc(exhausted).unwrap(),
            gone: refusal(),
        }
    }

    /// Their addresses as variables of a shell.
    pub(super) fn exports(&self) -> String {
        format!(
            "export OK={} FAILING={} ECHO={} EXHAUSTED={} GONE={}",
            self.ok.addr(),
            self.failing.addr(),
            self.echo.addr(),
            self.exhausted.addr(),
            self.gone.addr()
        )
    }
}

/// A folder with every file that a line names.
pub(super) fn folder(targets: &Targets) -> TestFolder {
    let folder = TestFolder::new(&closed(targets.ok.addr(), 1));
    plans(&folder, targets);
    experiments(&folder, targets);
    scripts(&folder);
    run_files(&folder);
    for name in ["k6.ndjson", "vegeta-report.json"] {
        folder.write(name, std::fs::read(fixture(name)).unwrap());
    }
    folder.write("echo.proto", PROTO);
    folder.write("cpu.pb.gz", profile::write(&cpu_profile()).unwrap());
    cluster(&folder);
    folder
}

fn plans(folder: &TestFolder, targets: &Targets) {
    folder.write("failing.toml", closed(targets.failing.addr(), 1) + FEW_ERRORS);
    folder.write("few.toml", closed(targets.ok.addr(), 1) + RARE);
    // More than one loop can offer.
    let flood =
        open(targets.ok.addr(), 1).replace("rate = \"50/s\"\nmax_vus = 100\n", "rate = \"2000000/s\"\n");
    folder.write("flood.toml", flood.replace("duration = \"1s\"", "duration = \"100ms\"") + FEW_ERRORS);
    // Pods do not reach this machine's own addresses.
    let away = closed(targets.ok.addr(), 1).replace(&targets.ok.addr().to_string(), "shop.example:80");
    folder.write("away.toml", away);
    // Ten times as much as k6 was asked for.
    folder.write(
        "intent.toml",
        "version = 1\nname = \"shop\"\n[targets.web]\nurl = \"http://127.0.0.1:43781\"\n[[scenarios]]\nname = \"browse\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"56/s\"\nduration = \"2s\"\nmax_vus = 4\n[[scenarios.steps]]\n\
         name = \"list\"\ntimeout = \"50ms\"\nget = \"${web.url}/list\"\n[[scenarios]]\nname = \"stalled\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"4/s\"\nduration = \"2s\"\n[[scenarios.steps]]\nname = \"gone\"\n\
         timeout = \"50ms\"\nget = \"${web.url}/gone\"\n[objectives]\nfast = \"p95(list) < 200ms\"\n",
    );
}

fn experiments(folder: &TestFolder, targets: &Targets) {
    folder.write("fifty.toml", open(targets.ok.addr(), 1));
    let running = |target: &Target| format!("targets = {{ api = \"http://{}\" }}\n", target.addr());
    let [ok, failing] = [&targets.ok, &targets.failing].map(running);
    // Shares of failures do not depend on how busy the machine is.
    let errors = "errors = { of = \"error_rate(all)\", margin = \"50%\" }";
    for (name, a, b, gate) in [
        ("same.toml", &ok, &ok, errors),
        ("worse.toml", &ok, &failing, errors),
        ("broken.toml", &failing, &failing, "p50 = \"p50(get)\""),
    ] {
        folder.write(
            name,
            format!(
                "version = 1\nplan = \"plan.toml\"\n[arms.a]\n{a}[arms.b]\n{b}[design]\nlooks = [5]\n[gate]\n{gate}\n"
            ),
        );
    }
    // From the third time on it does not start.
    let third = "reset = \"echo >> starts; test $(wc -l < starts) -lt 3\"\n";
    let broken = ok.clone() + third;
    for (name, arm) in
        [("search.toml", &ok), ("worse-search.toml", &failing), ("broken-search.toml", &broken)]
    {
        folder.write(
            name,
            format!("version = 1\nplan = \"fifty.toml\"\n[arms.service]\n{arm}[search]\n{SEARCH}"),
        );
    }
}

fn scripts(folder: &TestFolder) {
    let get = "import http from 'k6/http';\nconst get = () => http.get(`http://${__ENV.OK}/`);\n";
    let body = |options: &str, body: &str| {
        format!(
            "{get}import exec from 'k6/execution';\nimport {{ sleep }} from 'k6';\n\
             export const options = {{ {options} }};\nexport default function () {{ get(); {body} }}"
        )
    };
    folder.write("ok.js", body("", ""));
    folder.write("crossed.js", body("thresholds: { http_reqs: ['count>1000000'] }", ""));
    folder.write("long.js", body("vus: 1, duration: '1h'", "sleep(0.1);"));
    folder.write("aborts.js", body("", "exec.test.abort('enough');"));
    folder.write("fails.js", body("", "exec.test.fail('marked');"));
    folder.write("throws.js", "throw new Error('no');");
    folder.write(
        "dead.js",
        "import http from 'k6/http';\nexport default function () { http.get('http://127.0.0.1:1/'); }",
    );
    folder.write("empty.js", "export const nothing = 1;");
    // More than one loop can offer.
    folder.write(
        "flood.js",
        "import { Rate } from 'k6/metrics';\nconst bad = new Rate('bad');\nexport const options = { scenarios: { open: { \
         executor: 'constant-arrival-rate', rate: 1000000, timeUnit: '1s', duration: '1s', preAllocatedVUs: 10, \
         maxVUs: 10 } }, thresholds: { bad: ['rate<0.5'] } };\n\
         export default function () { for (let i = 0; i < 1e4; i++); bad.add(false); }",
    );
}

/// A stack of a second.
fn cpu_profile() -> profile::Profile {
    let named = |name: &str, unit: &str| ValueType { name: name.to_owned(), unit: unit.to_owned() };
    let mut builder = Builder::new(vec![named("samples", "count"), named("cpu", "nanoseconds")]);
    builder.sample(&[Frame { function: "main", binary: "" }], &[100, 1_000_000_000]).unwrap();
    builder.finish()
}

/// A run in a cluster whose pod hands out `whole.plimsoll`, by a `kubectl` of its own.
fn cluster(folder: &TestFolder) {
    folder.write("list", list(1));
    folder.write("job", serde_json::from_str::<serde_json::Value>(&list(0)).unwrap()["items"][0].to_string());
    with_kubectl(
        folder,
        "get) case $2 in job,pod) cat list;; *) cat job;; esac;;\n\
         logs) echo \"plimsoll-run-file sha256=$(sha256sum < whole.plimsoll | head -c 64) \
         bytes=$(wc -c < whole.plimsoll) exit=0\";;\n\
         exec) cat whole.plimsoll;;\ndelete) ;;",
    );
}

fn run_files(folder: &TestFolder) {
    folder.write("old.plimsoll", OLD);
    folder.write("changed.plimsoll", OLD);
    let changed = Connection::open(folder.path("changed.plimsoll")).unwrap();
    assert!(changed.execute("UPDATE counts SET value = value + 1", []).unwrap() > 0);
    let [steady, leaking] = &*WATCHED;
    folder.write("steady.plimsoll", steady);
    folder.write("leaking.plimsoll", leaking);
}

/// Watches of a process whose memory goes up and down a little, and of one that also keeps 10 MB in each load cycle.
static WATCHED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let kept = |second: u32| f64::from(second / CYCLE_S) * 1e7;
    let noise = |second: u32| f64::from(second % 7) * 4_096.0;
    [watched(noise), watched(|second| noise(second) + kept(second))]
});

/// A load cycle: half of it busy, half of it idle.
const CYCLE_S: u32 = 600;
const CYCLES: u32 = 6;

/// A watch of an hour in load cycles, with a process that had so much memory beyond 100 MB.
fn watched(memory: impl Fn(u32) -> f64) -> Vec<u8> {
    let folder = TestFolder::new("");
    folder.write("old.plimsoll", OLD);
    let model = Stored::open(&folder.path("old.plimsoll")).unwrap().manifest().clone();
    let mut workload: Workload = serde_json::from_value(model.workload.clone()).unwrap();
    workload.scenarios.clear();
    workload.objectives.clear();
    let half = |at: u32| Duration::from_secs(u64::from(at * CYCLE_S / 2));
    let named = |at: u32| format!("{}-{}", if at.is_multiple_of(2) { "busy" } else { "idle" }, at / 2);
    let phase = |at| Phase { name: named(at), start: half(at), end: half(at + 1) };
    workload.phases = (0..2 * CYCLES).map(phase).collect();
    let workload = serde_json::to_value(workload).unwrap();
    let manifest = Manifest { schema_version: SCHEMA_VERSION, workload, ..model };
    let mut writer = Writer::create(&folder.path("watched.plimsoll"), &manifest, Overwrite::Refuse).unwrap();
    let rss = SeriesKey::new("rss", "shop", "bytes");
    for second in 0..CYCLES * CYCLE_S {
        let half = second / (CYCLE_S / 2);
        let mut tick = Tick::default();
        tick.second = second;
        if second.is_multiple_of(CYCLE_S) {
            tick.new_keys =
                vec![(KeyId(half / 2), Key::of(Metric::Scheduled).scenario("load").phase(&named(half)))];
        }
        if half.is_multiple_of(2) {
            tick.add(KeyId(half / 2), second, 1);
        }
        writer.tick(&tick).unwrap();
        let at = Instant::from_nanos(u64::from(second) * 1_000_000_000);
        let sample = Sample { at, value: 1e8 + memory(second) };
        writer.observed(&Observed { samples: vec![(rss.clone(), sample)], ..Observed::default() }).unwrap();
    }
    let end = RunEnd::new(Ending::Completed, CYCLES * CYCLE_S - 1);
    writer.end(&end).unwrap();
    drop(writer);
    std::fs::read(folder.path("watched.plimsoll")).unwrap()
}
