//! Metrics of a service in Go, and of endpoints that have none to show.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Duration;

use evidence::NoticeKind;
use peers::go::{Settings, Target};

use crate::looking::Looking;

const WORK: &str = "endpoint=\"work\"";

fn watch(address: SocketAddr, keep: &[&str]) -> Looking {
    let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
    let url = format!("http://{address}/metrics");
    Looking::new(observe::prometheus("shop", &url, &keep, &[], Duration::from_secs(1)).unwrap())
}

/// Answers every request with `body`.
pub(crate) fn serve(body: Vec<u8>) -> SocketAddr {
    serve_head("200 OK", body)
}

/// The same with another status, and headers in the lines after it.
fn serve_head(status: &str, body: Vec<u8>) -> SocketAddr {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            // The client may stop reading.
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    address
}

#[test]
fn the_runtime_of_go_is_kept_when_nothing_is_named() {
    let target = Target::start(Settings::default()).unwrap();
    let mut looking = watch(target.address(), &[]);
    let before = looking.look();
    target.get("/leak?n=7").unwrap();
    let after = looking.look();
    assert_eq!(after.value("go_goroutines", "").unwrap() - before.value("go_goroutines", "").unwrap(), 7.0);
    assert!(after.value("go_memstats_heap_alloc_bytes", "").unwrap() > 100_000.0);
    assert_eq!(after.parts("go_gc_duration_seconds").len(), 5);
    assert!(after.value("go_gc_duration_seconds_count", "").is_some());
    assert!(!after.names().iter().any(|name| name.starts_with("gotarget")), "{:?}", after.names());
    assert!(before.value("go_gc_duration_seconds_count", "").is_none(), "the first look has no rates");
    assert_eq!((before.texts(), after.texts()), (vec![], vec![]));
}

#[test]
fn counters_move_as_requests_do() {
    let target = Target::start(Settings::default()).unwrap();
    let mut looking = watch(target.address(), &["gotarget_*", "go_memstats_*_total"]);
    looking.look();
    for _ in 0..20 {
        target.get("/work?ms=20").unwrap();
        target.get("/alloc?kb=100").unwrap();
    }
    let seen = looking.look();
    let count = seen.value("gotarget_request_seconds_count", WORK).unwrap();
    let busy = seen.value("gotarget_request_seconds_sum", WORK).unwrap();
    assert!(count > 0.0 && busy / count >= 0.020, "{busy} s in {count} requests a second");
    let quantiles =
        ["_p50", "_p95", "_p99"].map(|suffix| seen.value(&format!("gotarget_request_seconds{suffix}"), WORK));
    // One bound of its buckets is at 10 ms; a loaded machine takes longer than 20.
    assert!(
        quantiles[0].unwrap() > 0.010 && quantiles[0] <= quantiles[1] && quantiles[1] <= quantiles[2],
        "{quantiles:?}"
    );
    let allocated = seen.value("go_memstats_alloc_bytes_total", "").unwrap();
    assert!(allocated / count >= 100.0 * 1024.0, "{allocated} bytes a second");
    assert_eq!(seen.texts(), Vec::<&str>::new());
}

#[test]
fn a_restart_is_a_gap_and_no_rate() {
    let mut target = Target::start(Settings::default()).unwrap();
    let mut looking = watch(target.address(), &["go_memstats_mallocs_total", "go_goroutines"]);
    target.get("/alloc?kb=8000").unwrap();
    looking.look();
    assert!(looking.look().value("go_memstats_mallocs_total", "").is_some());
    target.restart().unwrap();
    let seen = looking.look();
    // The kept connection is of the process before.
    let seen = if seen.names().is_empty() { looking.look() } else { seen };
    assert_eq!(seen.names(), ["go_goroutines"], "{:?}", seen.texts());
    assert!(seen.kinds().contains(&NoticeKind::Restarted), "{:?}", seen.texts());
    assert!(looking.look().value("go_memstats_mallocs_total", "").is_some());
}

#[test]
fn an_endpoint_that_is_gone_is_reported_and_watched_again_when_it_returns() {
    let mut target = Target::start(Settings::default()).unwrap();
    let mut looking = watch(target.address(), &[]);
    looking.look();
    target.end();
    let gone = looking.look();
    assert_eq!((gone.kinds(), gone.names()), (vec![NoticeKind::Gone], vec![]));
    target.restart().unwrap();
    let back = looking.look();
    assert_eq!(back.kinds()[0], NoticeKind::Appeared);
    assert!(back.value("go_goroutines", "").is_some());
    assert!(back.value("go_gc_duration_seconds_count", "").is_none(), "what happened meanwhile is not known");
}

#[test]
fn garbage_gives_no_series() {
    for (body, why) in [
        (b"<html>no metrics</html>\n".to_vec(), "it answers with no metrics: line 1"),
        (vec![0, 159, 146, 150, 10, 255], "it answers with no metrics: line 1"),
        (Vec::new(), "it answers with no metrics"),
        (b"m{id=\"0000000\"} 1\n".repeat(500_000), "its answer is larger than 8388608 bytes"),
    ] {
        let seen = watch(serve(body), &["*"]).look();
        assert_eq!((seen.kinds(), seen.names()), (vec![NoticeKind::Gone], vec![]));
        assert!(seen.texts()[0].contains(why), "{:?}", seen.texts());
    }
}

#[test]
fn lines_that_make_no_sense_are_named_and_the_others_kept() {
    let body = b"good 1\nbad{ 2\ngood 3\nnone NaN\n";
    let mut looking = watch(serve(body.to_vec()), &["*"]);
    let seen = looking.look();
    assert_eq!((seen.names(), seen.value("good", "")), (vec!["good"], Some(1.0)));
    assert_eq!(seen.texts(), ["line 2 is left out: a label has no name; 1 lines after it too"]);
    assert_eq!(looking.look().texts(), Vec::<&str>::new(), "it is reported once");
}

#[test]
fn too_many_series_are_cut_and_counted() {
    let body: String = (0..1_500).map(|number| format!("m{{id=\"{number}\"}} 1\n")).collect();
    let mut looking = watch(serve(body.into_bytes()), &["m"]);
    let seen = looking.look();
    assert_eq!(seen.parts("m").len(), 1_000);
    assert_eq!(seen.texts(), ["500 series are left out: 1000 are kept at most; name fewer with `keep`"]);
}

#[test]
fn an_endpoint_that_never_answers_is_reported() {
    // It takes connections, and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let seen = watch(listener.local_addr().unwrap(), &[]).look();
    assert_eq!(seen.kinds(), [NoticeKind::Gone]);
    assert!(seen.texts()[0].contains("no answer within 2s"), "{:?}", seen.texts());
}

#[test]
fn a_redirect_is_reported_and_not_followed() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let location = format!("Location: http://{}/", elsewhere.local_addr().unwrap());
    let redirecting = serve_head(&format!("302 Found\r\n{location}"), Vec::new());
    let seen = watch(redirecting, &[]).look();
    assert_eq!(seen.texts(), ["its metrics cannot be read: it answers with status 302"]);
    assert!(elsewhere.accept().is_err(), "another host is not asked");
}
