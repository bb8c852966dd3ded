//! One process: what is sampled is what it did, and its end is a gap with a notice.

use std::time::Duration;

use evidence::{Instant, NoticeKind, Sample, SeriesKey};
use observe::{ObserveError, Observer, OwnProcess, ProcessObserver, ProcessRef, identify};

use crate::child::Peer;

/// `/proc/PID/stat` has user and system time in ticks of 10 ms, each rounded down, at both ends.
const GRANULARITY: Duration = Duration::from_millis(40);

fn at(second: u64) -> Instant {
    Instant::at(Duration::from_secs(second))
}

fn value(samples: &[(SeriesKey, Sample)], name: &str) -> Option<f64> {
    samples.iter().find(|(key, _)| &*key.name == name).map(|(_, sample)| sample.value)
}

fn names(samples: &[(SeriesKey, Sample)]) -> Vec<&str> {
    let mut names: Vec<&str> = samples.iter().map(|(key, _)| &*key.name).collect();
    names.sort_unstable();
    names
}

const LEVELS: [&str; 5] = ["cpus_allowed", "fds", "processes", "rss", "threads"];
const ALL: [&str; 10] = [
    "busiest_thread_cpu",
    "cpu",
    "cpus_allowed",
    "ctx_involuntary",
    "ctx_voluntary",
    "fds",
    "processes",
    "rss",
    "run_delay",
    "threads",
];

fn kinds(observer: &mut ProcessObserver) -> Vec<NoticeKind> {
    observer.take_notices().into_iter().map(|notice| notice.kind).collect()
}

#[test]
fn cpu_is_what_the_process_says_it_used() {
    let mut peer = Peer::new();
    let before = peer.cpu("cpu");
    let mut observer = ProcessObserver::new("peer", ProcessRef::Pid(peer.pid()));
    assert_eq!(names(&observer.sample(at(0))), LEVELS);
    let used = peer.cpu("burn 400") - before;
    // The clock is the test's: two seconds, whatever the burning took.
    let samples = observer.sample(at(2));
    assert_eq!(names(&samples), ALL);
    let seen = Duration::from_secs_f64(value(&samples, "cpu").unwrap() * 2.0);
    assert!(used.abs_diff(seen) <= GRANULARITY, "it used {used:?}, and {seen:?} were seen");
    // Two of its threads burnt half of it each.
    let thread = Duration::from_secs_f64(value(&samples, "busiest_thread_cpu").unwrap() * 2.0);
    assert!(
        (used / 2).abs_diff(thread) <= GRANULARITY,
        "it used {used:?}, and its busiest thread {thread:?}"
    );
    assert!(samples.iter().all(|(key, sample)| &*key.target == "peer" && sample.at == at(2)));
    // It waits for each order, and gives up its core for that.
    assert!(value(&samples, "ctx_voluntary").unwrap() > 0.0);
    assert_eq!(observer.take_notices(), []);
}

#[test]
fn memory_threads_and_descriptors_are_those_of_the_process() {
    let mut peer = Peer::new();
    peer.order("cpu");
    let mut observer = ProcessObserver::new("peer", ProcessRef::Pid(peer.pid()));
    let before = observer.sample(at(0));
    peer.order("listen 0");
    let after = observer.sample(at(1));
    assert_eq!(value(&after, "fds").unwrap() - value(&before, "fds").unwrap(), 1.0);
    assert_eq!(value(&after, "threads"), value(&before, "threads"));
    assert!(value(&after, "rss").unwrap() > 100_000.0);
}

#[test]
fn children_are_part_of_their_parent_and_their_work_stays_when_they_end() {
    let mut peer = Peer::new();
    let before = peer.cpu("cpu");
    let mut observer = ProcessObserver::new("peer", ProcessRef::Pid(peer.pid()));
    let alone = observer.sample(at(0));
    let child: u32 = peer.order("child 300000").parse().unwrap();
    let used_by_child = used_so_far(child);
    let with_child = observer.sample(at(1));
    let more = |name: &str| value(&with_child, name).unwrap() - value(&alone, name).unwrap();
    assert_eq!((more("processes"), more("threads")), (1.0, 1.0));
    assert!(more("fds") >= 3.0 && more("rss") > 100_000.0);
    let used = Duration::from_secs_f64(value(&with_child, "cpu").unwrap());
    assert!(used >= used_by_child, "{used:?} are seen, the child alone used {used_by_child:?}");

    peer.order("bury");
    let own = peer.cpu("cpu") - before;
    let buried = observer.sample(at(2));
    assert_eq!(value(&buried, "processes"), Some(1.0));
    // Its time is counted once: what comes now is the parent's little.
    let whole = used + Duration::from_secs_f64(value(&buried, "cpu").unwrap());
    let expect = own + used_by_child;
    assert!(whole.abs_diff(expect) <= 2 * GRANULARITY, "{whole:?} are seen, {expect:?} were used");
    assert_eq!(observer.take_notices(), []);
}

/// CPU time that a process used so far.
fn used_so_far(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 1_000 / rustix::param::clock_ticks_per_second())
}

#[test]
fn the_servers_of_postgresql_are_one_target_with_those_that_ended() {
    let cluster = peers::postgres::Cluster::start().unwrap();
    let mut observer = ProcessObserver::new("db", ProcessRef::Port(cluster.port()));
    assert!(value(&observer.sample(at(0)), "processes").unwrap() > 3.0);
    let work = "SELECT count(DISTINCT md5(i::text)) FROM generate_series(1, 20000) i";
    let mut cpu: Vec<f64> = (1..=100)
        .map(|second| {
            cluster.sql("postgres", work).unwrap();
            value(&observer.sample(at(second)), "cpu").unwrap_or_default()
        })
        .collect();
    cpu.extend(value(&observer.sample(at(101)), "cpu"));
    // The connection is over each time, and so is the process that served it. Where it has ended and the main process does not know
    // that yet, the next sample has its CPU.
    let missed: Vec<&[f64]> = cpu.windows(2).filter(|pair| pair[0] < 0.01 && pair[1] < 0.02).collect();
    assert!(missed.is_empty(), "too little CPU is seen: {missed:?} of {cpu:?}");
}

#[test]
fn a_killed_process_leaves_a_gap_and_one_notice() {
    let mut peer = Peer::new();
    peer.order("cpu");
    let mut observer = ProcessObserver::new("peer", ProcessRef::Pid(peer.pid()));
    observer.sample(at(0));
    peer.kill();
    for second in 1..4 {
        assert_eq!(observer.sample(at(second)), []);
    }
    let notices = observer.take_notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!((notices[0].at, notices[0].kind), (at(1), NoticeKind::Gone));
    assert_eq!(notices[0].text, format!("process {} is gone", peer.pid()));
}

#[test]
fn a_zombie_process_is_gone_too() {
    let mut peer = Peer::new();
    peer.order("cpu");
    let mut observer = ProcessObserver::new("peer", ProcessRef::Pid(peer.pid()));
    observer.sample(at(0));
    peer.kill_unseen();
    // Its output ends a little before it does.
    let gone = (1..).find(|second| observer.sample(at(*second)).is_empty());
    assert!(gone.is_some());
    assert_eq!(kinds(&mut observer), [NoticeKind::Gone]);
}

#[test]
fn a_restart_on_the_same_port_begins_rates_anew() {
    let mut peer = Peer::new();
    let port = peer.order("listen 0").parse().unwrap();
    peer.order("burn 100");
    let mut observer = ProcessObserver::new("peer", ProcessRef::Port(port));
    assert_eq!(names(&observer.sample(at(0))), LEVELS);
    assert_eq!(names(&observer.sample(at(1))), ALL);
    peer.kill();
    assert_eq!(observer.sample(at(2)), []);
    assert_eq!(kinds(&mut observer), [NoticeKind::Gone, NoticeKind::Gone]);

    let mut second = Peer::new();
    second.order(&format!("listen {port}"));
    assert_eq!(names(&observer.sample(at(3))), LEVELS, "the first look at a new process has no rates");
    let notices = observer.take_notices();
    assert_eq!(notices.len(), 1);
    let expect = format!(
        "the process that listens on port {port} was {} and is {} now: it was restarted",
        peer.pid(),
        second.pid()
    );
    assert_eq!((notices[0].kind, &notices[0].text), (NoticeKind::Restarted, &expect));
    let samples = observer.sample(at(4));
    assert_eq!(names(&samples), ALL);
    assert!(samples.iter().all(|(_, sample)| sample.value >= 0.0));
}

#[test]
fn a_process_that_closed_its_port_is_watched_until_another_takes_over() {
    let mut peer = Peer::new();
    let port = peer.order("listen 0").parse().unwrap();
    let mut observer = ProcessObserver::new("peer", ProcessRef::Port(port));
    observer.sample(at(0));
    peer.order("close");
    assert_eq!(names(&observer.sample(at(1))), ALL);
    let mut second = Peer::new();
    second.order(&format!("listen {port}"));
    assert_eq!(names(&observer.sample(at(2))), LEVELS);
    assert_eq!(kinds(&mut observer), [NoticeKind::Restarted]);
}

#[test]
fn a_process_that_is_not_there_yet_is_found_when_it_comes() {
    let mut peer = Peer::new();
    let port: u16 = peer.order("listen 0").parse().unwrap();
    peer.order("close");
    let mut observer = ProcessObserver::new("peer", ProcessRef::Port(port));
    assert_eq!(observer.sample(at(0)), []);
    assert_eq!(observer.sample(at(1)), []);
    assert_eq!(kinds(&mut observer), [NoticeKind::Gone]);
    peer.order(&format!("listen {port}"));
    assert_eq!(names(&observer.sample(at(2))), LEVELS);
    assert_eq!(kinds(&mut observer), [NoticeKind::Appeared]);
}

#[test]
fn a_process_is_identified_by_its_port() {
    let mut peer = Peer::new();
    let port = peer.order("listen 0").parse().unwrap();
    let identity = identify(ProcessRef::Port(port)).unwrap();
    assert_eq!(identity.facts["pid"], peer.pid().to_string());
    assert_eq!(identity.facts["arguments"], "3");
    peer.kill();
    assert!(matches!(identify(ProcessRef::Port(port)), Err(ObserveError::NoListener { .. })));
    assert!(matches!(identify(ProcessRef::Pid(peer.pid())), Err(ObserveError::Gone { .. })));
}

#[test]
fn the_generator_watches_itself_by_the_nanosecond() {
    const OWN: [&str; 4] = ["cpus_allowed", "fds", "rss", "threads"];
    let mut own = OwnProcess::new();
    assert_eq!(names(&own.sample(at(0))), OWN);
    let samples = own.sample(at(1));
    assert_eq!(names(&samples).len(), ALL.len() - 1);
    assert!(value(&samples, "cpu").unwrap() > 0.0, "taking a sample takes time");
    assert!(samples.iter().all(|(key, _)| &*key.target == SeriesKey::GENERATOR));
    assert_eq!(names(&own.sample(at(1))), OWN, "no time passed, so there are no rates");
}
