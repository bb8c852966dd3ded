//! Profiles of a Go program under load, read by this crate and by `go tool pprof`.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use peers::go::{Settings, Target};
use profile::{CallTree, Kind, Profile, Sampling, Side, Sort, TopOptions, View, ViewOptions, compare};
use tempfile::TempDir;

use crate::oracle::{OracleRow, oracle_top, share};

/// Profiles of one process, captured once for all tests.
struct CapturedProfiles {
    folder: TempDir,
}

/// All kinds of profiles of a target under load; cumulative ones at a start and at an end.
fn captured() -> &'static CapturedProfiles {
    static CAPTURED: OnceLock<CapturedProfiles> = OnceLock::new();
    CAPTURED.get_or_init(|| {
        let settings =
            Settings { mutex_fraction: 1, block_rate_ns: 1_000, memory_rate_bytes: 16 << 10, slowdown: 1 };
        let target = Target::start(settings).unwrap();
        let folder = TempDir::new().unwrap();
        let keep =
            |name: &str, path: &str| fs::write(folder.path().join(name), target.get(path).unwrap()).unwrap();
        target.get("/leak?n=5").unwrap();
        let load = |work: &str| {
            target.get(work).unwrap();
            target.get("/alloc?kb=512").unwrap();
            target.get("/lock?n=4").unwrap();
        };
        load("/work?ms=5");
        let cumulative = ["heap", "allocs", "mutex", "block"];
        cumulative
            .iter()
            .for_each(|kind| keep(&format!("{kind}.start"), &format!("/debug/pprof/{kind}?gc=1")));
        under_load(&|| load("/work?ms=20"), || keep("cpu", "/debug/pprof/profile?seconds=1"));
        under_load(&|| load("/work?ms=5"), || keep("cpu.other", "/debug/pprof/profile?seconds=1"));
        cumulative.iter().for_each(|kind| keep(kind, &format!("/debug/pprof/{kind}?gc=1")));
        ["goroutine", "threadcreate"].iter().for_each(|kind| keep(kind, &format!("/debug/pprof/{kind}")));
        CapturedProfiles { folder }
    })
}

/// Calls `load` repeatedly while `capture` runs.
fn under_load(load: &(impl Fn() + Sync), capture: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                load();
            }
        });
        capture();
        is_over.store(true, Ordering::Relaxed);
    });
}

impl CapturedProfiles {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Profile {
        profile::read(&fs::read(self.path(name)).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

/// Asserts that every number of the top 20 is the oracle's.
fn same_top(view: &View<'_>, arguments: &[&str], file: &str) {
    for (sort, flag) in [(Sort::Flat, "-flat"), (Sort::Cumulative, "-cum")] {
        let ours = profile::top(view, TopOptions { sort, ..TopOptions::default() });
        let path = captured().path(file);
        let theirs = oracle_top(&view.value_type().unit, &[&[flag], arguments].concat(), &path);
        assert_eq!(ours.sample_type.name, theirs.sample_type);
        assert_eq!(ours.total, theirs.total, "the total of {file} {arguments:?}");
        assert_eq!(ours.dropped, theirs.dropped, "what {file} {arguments:?} drops");
        let rows: Vec<OracleRow> = ours
            .rows
            .iter()
            .map(|row| OracleRow {
                flat: row.flat,
                flat_share: share(row.flat, ours.total),
                cumulative: row.cumulative,
                cumulative_share: share(row.cumulative, ours.total),
                name: row.name.clone(),
            })
            .collect();
        assert_eq!(rows, theirs.rows, "{file} {arguments:?} {flag}");
        assert!(!rows.is_empty(), "{file} {arguments:?} has no rows");
    }
}

#[test]
fn totals_and_the_top_twenty_equal_those_of_go_tool_pprof() {
    for file in ["cpu", "heap", "allocs", "mutex", "block", "goroutine", "threadcreate"] {
        let profile = captured().read(file);
        same_top(&View::new(&profile, ViewOptions::default()).unwrap(), &[], file);
        for counted in &profile.sample_types {
            let options = ViewOptions { sample_type: Some(&counted.name), focus: None };
            let index = format!("-sample_index={}", counted.name);
            same_top(&View::new(&profile, options).unwrap(), &[&index], file);
        }
    }
}

#[test]
fn a_focus_selects_the_functions_that_go_tool_pprof_selects() {
    for (file, focus) in [("cpu", "light$"), ("allocs", "Piece"), ("heap", "net/http"), ("cpu", "load.go")] {
        let profile = captured().read(file);
        let view = View::new(&profile, ViewOptions { sample_type: None, focus: Some(focus) }).unwrap();
        same_top(&view, &[&format!("-focus={focus}")], file);
    }
}

#[test]
fn the_difference_of_two_profiles_equals_that_of_go_tool_pprof() {
    for file in ["heap", "allocs", "mutex", "block"] {
        let start = format!("{file}.start");
        let (base, end) = (captured().read(&start), captured().read(file));
        let between = profile::since(&base, &end).unwrap();
        let argument = format!("-base={}", captured().path(&start).display());
        for counted in &end.sample_types {
            let options = ViewOptions { sample_type: Some(&counted.name), focus: None };
            let view = View::new(&between, options).unwrap();
            same_top(&view, &[&argument, &format!("-sample_index={}", counted.name)], file);
        }
        assert!(between.duration_ns > 1_000_000_000, "{file}: the window was longer");
        let backwards = profile::since(&end, &base);
        assert!(backwards.unwrap_err().to_string().contains("less at the end"), "{file}");
    }
}

#[test]
fn the_sum_of_profiles_equals_that_of_go_tool_pprof() {
    let (one, other) = (captured().read("cpu"), captured().read("cpu.other"));
    let both = profile::merge(&[&one, &other]).unwrap();
    let second = captured().path("cpu.other").display().to_string();
    same_top(&View::new(&both, ViewOptions::default()).unwrap(), &[&second], "cpu");
    assert_eq!(both.duration_ns, one.duration_ns + other.duration_ns);
}

#[test]
fn differences_from_a_baseline_equal_those_of_go_tool_pprof() {
    for (base_file, file) in [("cpu.other", "cpu"), ("allocs.start", "allocs"), ("mutex.start", "mutex")] {
        let (base, new) = (captured().read(base_file), captured().read(file));
        let [base, new] = [&base, &new].map(|profile| View::new(profile, ViewOptions::default()).unwrap());
        let argument = format!("-diff_base={}", captured().path(base_file).display());
        let theirs = oracle_top(&new.value_type().unit, &["-flat", &argument], &captured().path(file));
        let side = |view| Side { view, requests: None };
        let ours = compare(side(&base), side(&new)).unwrap();
        assert_eq!(ours.total.base.value, theirs.total, "shares are of the baseline's total");
        let mut seen = 0;
        for row in theirs.rows.iter().filter(|row| row.flat != 0) {
            let mover = ours.movers.iter().find(|mover| mover.name == row.name).unwrap();
            assert_eq!(mover.change.new.value - mover.change.base.value, row.flat, "{file}: {}", row.name);
            seen += 1;
        }
        assert!(seen > 0, "{file} does not differ from {base_file}");
    }
}

#[test]
fn written_profiles_are_read_by_go_tool_pprof() {
    for file in ["cpu", "heap", "mutex"] {
        let profile = captured().read(file);
        let bytes = profile::write(&profile).unwrap();
        assert_eq!(profile::read(&bytes).as_ref(), Ok(&profile), "{file} is unchanged when it is read again");
        let name = format!("{file}.written");
        fs::write(captured().path(&name), &bytes).unwrap();
        same_top(&View::new(&profile, ViewOptions::default()).unwrap(), &[], &name);
    }
}

#[test]
fn kinds_counts_and_windows_are_recognised() {
    let cases = [
        ("cpu", Kind::Cpu),
        ("heap", Kind::InUse),
        ("allocs", Kind::Allocated),
        ("mutex", Kind::Contention),
        ("goroutine", Kind::State),
    ];
    for (file, kind) in cases {
        let profile = captured().read(file);
        let view = View::new(&profile, ViewOptions::default()).unwrap();
        assert_eq!((view.kind(), view.sampling()), (kind, Sampling::Seen), "{file}");
        assert!(profile.duration_ns >= if kind == Kind::Cpu { 900_000_000 } else { 0 }, "{file}");
    }
    let profile = captured().read("goroutine");
    let goroutines =
        profile::top(&View::new(&profile, ViewOptions::default()).unwrap(), TopOptions::default());
    let waiting = goroutines.rows.iter().find(|row| row.name == "main.waitForever").unwrap();
    assert_eq!((waiting.flat, waiting.cumulative), (0, 5), "five goroutines leak");
}

#[test]
fn inlined_and_recursive_functions_are_frames_of_their_own_in_the_tree() {
    let profile = captured().read("cpu");
    let view = View::new(&profile, ViewOptions::default()).unwrap();
    let tree = CallTree::build(&view);
    assert_eq!(tree.root().value, view.total());
    let own: i64 = tree.nodes.iter().map(|node| node.own).sum();
    assert_eq!(own, view.total(), "own values add up to the total");
    for node in &tree.nodes {
        let below: i64 = tree.children(node).map(|child| child.value).sum();
        assert_eq!(node.value, node.own + below);
    }
    let has = |name: &str, child: &str| {
        tree.nodes
            .iter()
            .any(|node| tree.name(node) == name && tree.children(node).any(|below| tree.name(below) == child))
    };
    assert!(has("main.work", "main.heavy") && has("main.heavy", "main.rounds"));
    assert!(has("main.rounds", "main.mix"), "mix is inlined and shown");
    assert!(has("main.recursive", "main.recursive"));
}

#[test]
fn sampling_that_was_off_is_not_an_empty_measurement() {
    let target = Target::start(Settings { memory_rate_bytes: 0, ..Settings::default() }).unwrap();
    target.get("/lock?n=4").unwrap();
    target.get("/alloc?kb=512").unwrap();
    let cases = [
        ("mutex", Sampling::OffOrUnknown),
        ("block", Sampling::OffOrUnknown),
        ("heap", Sampling::Off),
        ("allocs", Sampling::Off),
    ];
    for (kind, sampling) in cases {
        let profile = profile::read(&target.get(&format!("/debug/pprof/{kind}")).unwrap()).unwrap();
        let view = View::new(&profile, ViewOptions::default()).unwrap();
        assert_eq!(view.sampling(), sampling, "{kind}");
        assert!(sampling == Sampling::Off || view.total() == 0, "{kind}");
    }
}

#[test]
fn the_wait_of_a_request_is_at_the_line_of_the_program_that_waits() {
    let since = |kind: &str| {
        profile::since(&captured().read(&format!("{kind}.start")), &captured().read(kind)).unwrap()
    };
    let waits = profile::request_waits(&since("block"));
    // The handler waits in `contend` of load.go for those that hold the lock.
    let source = include_str!("../../../../peers/go/load.go");
    let waiting = source.lines().position(|line| line.trim() == "all.Wait()").unwrap() + 1;
    assert_eq!(waits.first().map(|wait| wait.place.clone()), Some(format!("load.go:{waiting}")), "{waits:?}");
    assert!(waits[0].seconds > 0.0);
}
