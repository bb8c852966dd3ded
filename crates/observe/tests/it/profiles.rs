//! Profiles at marks, from a program in Go.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use evidence::{Instant, NoticeKind, Observed, Profile, ProfileKind, Sampling};
use observe::{Capture, Clock, Formats, ProcessRef, ProfileSource, Profiler, WrongPprofPath, ask_pprof};
use peers::go::{Settings, Target};

const ALL: [ProfileKind; 5] =
    [ProfileKind::Cpu, ProfileKind::Heap, ProfileKind::Goroutine, ProfileKind::Mutex, ProfileKind::Block];

/// What perf printed, untouched; everything is a profile.
const AS_IT_IS: Formats = Formats { from_perf: |text| Ok(text.as_bytes().to_vec()), check: |_| Ok(()) };

fn clock() -> Clock {
    let start = std::time::Instant::now();
    std::sync::Arc::new(move || Instant::at(start.elapsed()))
}

fn capture(address: std::net::SocketAddr, kinds: &[ProfileKind]) -> Capture {
    let source = ProfileSource::Pprof(format!("http://{address}/debug/pprof"));
    Capture {
        target: "shop".to_owned(),
        mark: "0s".to_owned(),
        begin_s: 0,
        length_s: 1,
        kinds: kinds.to_vec(),
        source,
    }
}

/// Everything that comes until `count` profiles and notices are there.
fn collect(seen: &Receiver<Observed>, count: usize) -> Observed {
    let mut all = Observed::default();
    while all.profiles.len() + all.notices.len() < count {
        all.extend(seen.recv_timeout(Duration::from_secs(60)).expect("something comes"));
    }
    all
}

fn sampling(profiles: &[Profile], kind: ProfileKind) -> Vec<Sampling> {
    profiles.iter().filter(|profile| profile.kind == kind).map(|profile| profile.sampling).collect()
}

#[test]
fn every_kind_is_captured_with_its_window_and_whether_it_was_sampled() {
    let target = Target::start(Settings::default()).unwrap();
    let (send, seen) = channel();
    let profiler = Profiler::start(vec![capture(target.address(), &ALL)], &clock(), AS_IT_IS, &send).unwrap();
    let all = collect(&seen, 8);
    profiler.stop();
    assert_eq!(all.notices, []);
    let second = |second| Instant::at(Duration::from_secs(second));
    for profile in &all.profiles {
        assert_eq!(
            (profile.begin, profile.target.as_str(), profile.mark.as_str()),
            (second(0), "shop", "0s")
        );
        assert!(profile.bytes.starts_with(&[0x1f, 0x8b]), "{:?} is not a gzipped profile", profile.kind);
    }
    let ends = |kind| {
        all.profiles.iter().filter(move |profile| profile.kind == kind).map(|profile| profile.end.second())
    };
    assert_eq!(ends(ProfileKind::Cpu).collect::<Vec<_>>(), [1]);
    assert_eq!(ends(ProfileKind::Heap).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(sampling(&all.profiles, ProfileKind::Heap), [Sampling::On; 2]);
    assert_eq!(sampling(&all.profiles, ProfileKind::Mutex), [Sampling::Off; 2], "Go's own setting");
    assert_eq!(sampling(&all.profiles, ProfileKind::Block), [Sampling::Unknown; 2]);
}

#[test]
fn a_runtime_that_samples_contention_says_so() {
    let settings = Settings { mutex_fraction: 1, block_rate_ns: 1, ..Settings::default() };
    let target = Target::start(settings).unwrap();
    target.get("/lock?n=4").unwrap();
    let (send, seen) = channel();
    let kinds = [ProfileKind::Mutex, ProfileKind::Block];
    let profiler =
        Profiler::start(vec![capture(target.address(), &kinds)], &clock(), AS_IT_IS, &send).unwrap();
    let all = collect(&seen, 4);
    profiler.stop();
    assert!(
        all.profiles.iter().all(|profile| profile.sampling == Sampling::On),
        "{:?}",
        sampling(&all.profiles, ProfileKind::Block)
    );
}

#[test]
fn what_cannot_be_captured_is_a_notice() {
    let gone = testbed::refuse().unwrap();
    let (send, seen) = channel();
    let profiler = Profiler::start(vec![capture(gone.addr(), &ALL)], &clock(), AS_IT_IS, &send).unwrap();
    let all = collect(&seen, 8);
    profiler.stop();
    assert_eq!(all.profiles, []);
    let texts: Vec<&str> = all.notices.iter().map(|notice| notice.text.as_str()).collect();
    assert!(texts.contains(&"the cpu profile at `0s` is missing: connection refused"), "{texts:?}");
    assert!(
        all.notices
            .iter()
            .all(|notice| notice.kind == NoticeKind::Unreadable && notice.observer == "shop pprof")
    );
}

#[test]
fn what_is_larger_than_any_profile_or_is_none_is_a_notice() {
    let giant = crate::prometheus::serve(vec![0; (32 << 20) + 1]);
    let page = crate::prometheus::serve(b"<html>not found</html>".to_vec());
    let formats = Formats { check: |_| Err("it is text".to_owned()), ..AS_IT_IS };
    for (address, comes, reported) in [
        (giant, 2, "the heap profile at `0s` is missing: its answer is larger than 33554432 bytes"),
        (page, 4, "the heap profile at `0s` cannot be read: it is text"),
    ] {
        let (send, seen) = channel();
        let heap = capture(address, &[ProfileKind::Heap]);
        let profiler = Profiler::start(vec![heap], &clock(), formats, &send).unwrap();
        let all = collect(&seen, comes);
        profiler.stop();
        let texts: Vec<&str> = all.notices.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(texts, [reported; 2], "once at each end of the window");
    }
}

#[test]
fn a_run_that_ends_sooner_does_not_wait_for_a_mark() {
    let target = Target::start(Settings::default()).unwrap();
    let (send, seen) = channel();
    let late = Capture { begin_s: 1_000, ..capture(target.address(), &ALL) };
    let profiler = Profiler::start(vec![late], &clock(), AS_IT_IS, &send).unwrap();
    profiler.stop();
    let all = collect(&seen, 1);
    assert_eq!(all.notices[0].text, "profiles at `0s` are missing: the run ended before its window was over");
}

/// Where perf is there and may look at processes of one's own.
#[test]
fn a_process_without_endpoints_is_sampled_by_perf_or_it_is_said_why_not() {
    let target = Target::start(Settings::default()).unwrap();
    let source = ProfileSource::Perf(ProcessRef::Pid(target.pid()));
    let asked = Capture { source, ..capture(target.address(), &[ProfileKind::Cpu, ProfileKind::Heap]) };
    let (send, seen) = channel();
    let profiler = Profiler::start(vec![asked], &clock(), AS_IT_IS, &send).unwrap();
    let is_over = AtomicBool::new(false);
    let all = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                target.get("/work?ms=20").unwrap();
            }
        });
        let all = collect(&seen, 2);
        is_over.store(true, Ordering::Relaxed);
        all
    });
    profiler.stop();
    let heap = "a process without pprof endpoints has no profiles of heap";
    assert!(all.notices.iter().any(|notice| notice.text == heap), "{:?}", all.notices);
    match all.profiles.first() {
        Some(profile) => {
            let printed = String::from_utf8_lossy(&profile.bytes);
            assert!(printed.contains("10101010") && printed.contains(" main.work ("), "{printed}");
        }
        None => assert!(all.notices.iter().any(|notice| notice.text.contains("`perf")), "{:?}", all.notices),
    }
}

#[test]
fn a_path_without_profiles_is_found_with_what_it_answers() {
    let target = Target::start(Settings::default()).unwrap();
    let below = |path: &str| format!("http://{}{path}", target.address());
    assert_eq!(ask_pprof(&below("/debug/pprof"), &ALL), Ok(()));
    let wrong = ask_pprof(&below("/pprof"), &[ProfileKind::Cpu, ProfileKind::Heap]).unwrap_err();
    // Go's peer answers each path that it does not know with 204.
    let missing = |path: &str| (path.to_owned(), "it answers with status 204".to_owned());
    let paths = ["/goroutine?debug=1", "/profile?seconds=1", "/heap?debug=1"];
    assert_eq!(wrong, WrongPprofPath { asked: paths.map(missing).into(), elsewhere: Some("/debug/pprof") });
    let page = ask_pprof(&below("/debug/pprof/?debug=1#"), &[ProfileKind::Heap]).unwrap_err();
    assert_eq!(page.asked[0].1, "it answers with a page");
    let wrong = ask_pprof(&below(""), &[ProfileKind::Mutex]).unwrap_err();
    assert_eq!((wrong.asked, wrong.elsewhere), (vec![missing("/mutex?debug=1")], Some("/debug/pprof")));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let wrong = ask_pprof(&format!("http://{free}/debug/pprof"), &[ProfileKind::Heap]).unwrap_err();
    let refused = ("/heap?debug=1".to_owned(), "connection refused".to_owned());
    assert_eq!(wrong, WrongPprofPath { asked: vec![refused], elsewhere: None });
}
