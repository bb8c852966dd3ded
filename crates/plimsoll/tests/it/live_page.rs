//! `--live`: the report of a run so far over HTTP, from a client without a library for HTTP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use archive::Stored;
use evidence::{NoticeKind, Run as _};
use rustix::process::{Signal, kill_process};
use testbed::{Behaviour, Target};

use crate::command::{HANG, Running, TestFolder, closed, open, recorded_seconds};
use crate::workers::worker_pids;

/// A run with a live page.
struct LiveRun {
    running: Running,
    folder: TestFolder,
    address: SocketAddr,
    /// As it was printed.
    url: String,
    _target: Target,
}

impl LiveRun {
    fn start(seconds: u32, more: &[&str]) -> LiveRun {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let folder = TestFolder::new(&closed(target.addr(), seconds));
        LiveRun::start_in(folder, target, &[&["run", "plan.toml", "-o", "run.plimsoll"], more].concat())
    }

    fn start_in(folder: TestFolder, target: Target, arguments: &[&str]) -> LiveRun {
        let mut running = folder.start(&[arguments, &["--quiet", "--html", "run.html"]].concat());
        let stderr = folder.path("stderr.txt");
        let printed = || std::fs::read_to_string(&stderr).unwrap_or_default();
        running
            .until("the address of the page", || printed().contains("/\n") || printed().contains("token="));
        let url = printed().lines().find_map(|line| line.strip_prefix("live page: ")).unwrap().to_owned();
        let authority = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        let port = authority.rsplit(':').next().unwrap().parse().unwrap();
        LiveRun { running, folder, address: SocketAddr::from(([127, 0, 0, 1], port)), url, _target: target }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(HANG)).unwrap();
        stream
    }

    /// The answer to a request with this first line, these further header lines and this body.
    fn ask(&self, line: &str, headers: &str, body: &str) -> PageResponse {
        let host = if headers.to_lowercase().contains("host:") {
            String::new()
        } else {
            format!("Host: {}\r\n", self.address)
        };
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let mut stream = self.connect();
        write!(stream, "{line} HTTP/1.1\r\n{host}{headers}{length}\r\n{body}").unwrap();
        PageResponse::of(stream)
    }

    fn get(&self, path: &str) -> PageResponse {
        self.ask(&format!("GET {path}"), "", "")
    }

    /// The pages from version 0 on, each as soon as there is a newer one, until the last.
    fn pages(&self) -> Vec<String> {
        let mut pages: Vec<String> = Vec::new();
        loop {
            let version = pages.last().map_or(0, |page| version(page));
            let answer = self.get(&format!("/update?after={version}"));
            match answer.status {
                204 => {}
                200 => pages.push(answer.body),
                other => panic!("{other}: {}", answer.body),
            }
            if pages.last().is_some_and(|page| page.contains("class=\"over\"")) {
                return pages;
            }
        }
    }
}

/// What a server has answered.
struct PageResponse {
    status: u16,
    head: String,
    body: String,
}

impl PageResponse {
    fn of(mut stream: TcpStream) -> PageResponse {
        let mut text = String::new();
        // A server that refuses a request unread may close with a reset after its answer.
        let _ = stream.read_to_string(&mut text);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        PageResponse { status, head: head.to_lowercase(), body: body.to_owned() }
    }
}

fn version(page: &str) -> u64 {
    let after = page.split("data-version=\"").nth(1).unwrap();
    after.split('"').next().unwrap().parse().unwrap()
}

/// What a reader sees of a page: from its head to the end of its content.
fn content(page: &str) -> &str {
    &page[page.find("<header").unwrap()..page.find("</main>").unwrap()]
}

#[test]
fn the_page_follows_a_run_of_workers_and_its_last_one_is_the_report() {
    let run = LiveRun::start(5, &["--live=127.0.0.1:0", "--workers", "2"]);
    let first = run.get("/update?after=0").body;
    assert!(first.contains("UNDER WAY") && !first.contains("<a href=\"#marks\">"), "{first}");
    let marked = run.ask("POST /marks", "", "deployed <b>v2</b>");
    assert_eq!(marked.status, 201, "{}", marked.body);
    // The time by the clock of the report, which is checked below.
    let said = marked.body.strip_prefix("marked at ").unwrap();
    let (at, text) = said.split_once(": ").unwrap();
    assert_eq!(text, "deployed <b>v2</b>\n");
    let pages = run.pages();
    let seconds = |page: &str| {
        page.split("<p class=\"because\">").nth(1).unwrap().split(' ').next().unwrap().to_owned()
    };
    let last = pages.last().unwrap();
    // Of the first page no second may be complete.
    let before: std::collections::BTreeSet<String> =
        pages[..pages.len() - 1].iter().map(|of| seconds(of)).collect();
    assert!(pages.len() >= 3 && before.len() >= 2, "it follows the run: {before:?}");
    assert!(pages.windows(2).all(|pages| version(&pages[0]) < version(&pages[1])));
    run.running.end().exits_with(0);
    let report = run.folder.read("run.html");
    assert_eq!(content(last), content(&report));
    assert!(content(last).contains("deployed &lt;b&gt;v2&lt;/b&gt;"), "{last}");
    assert!(content(last).contains(&format!("1 · {at}")), "the time that was answered: {at}");
    let stored = Stored::open(&run.folder.path("run.plimsoll")).unwrap();
    let marks = stored.notices().unwrap().into_iter().filter(|notice| notice.kind == NoticeKind::Mark);
    assert_eq!(marks.map(|mark| mark.text).collect::<Vec<_>>(), ["deployed <b>v2</b>"]);
}

#[test]
fn the_last_page_of_a_script_and_of_an_ad_hoc_run_is_its_report_too() {
    let target = || testbed::http(Behaviour::ok()).unwrap();
    let (of_script, of_url) = (target(), target());
    let url = format!("http://{}/x", of_url.addr());
    let folder = TestFolder::new("");
    let script = "import http from 'k6/http';\nexport const options = { vus: 2, duration: '3s' };\n\
                  export default () => { http.get('http://ADDRESS/x'); };\n";
    folder.write("script.js", script.replace("ADDRESS", &of_script.addr().to_string()));
    let ad_hoc = ["http", &url, "-r", "50", "-z", "3s", "--live=:0"];
    let runs: [(TestFolder, Target, &[&str]); 2] =
        [(folder, of_script, &["run", "script.js", "--live=:0"]), (TestFolder::new(""), of_url, &ad_hoc)];
    for (folder, target, arguments) in runs {
        let run = LiveRun::start_in(folder, target, arguments);
        let pages = run.pages();
        run.running.end().exits_with(0);
        assert!(pages[0].contains("UNDER WAY"), "{}", pages[0]);
        assert_eq!(content(pages.last().unwrap()), content(&run.folder.read("run.html")));
    }
}

#[test]
fn what_other_sites_send_and_what_is_too_large_is_refused() {
    let run = LiveRun::start(60, &["--live=127.0.0.1:0"]);
    assert!(run.url.starts_with("http://127.0.0.1:") && run.url.ends_with('/'), "{}", run.url);
    let page = run.get("/");
    assert_eq!(page.status, 200);
    for header in [
        "cache-control: no-store",
        "x-content-type-options: nosniff",
        "frame-ancestors 'none'",
        "referrer-policy: no-referrer",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(page.head.contains(header), "{header} in {}", page.head);
    }
    let status = |line: &str, headers: &str, body: &str| run.ask(line, headers, body).status;
    assert_eq!(status("GET /", "Host: evil.example\r\n", ""), 421);
    assert_eq!(status("POST /marks", "Host: evil.example\r\n", "x"), 421);
    assert_eq!(status("POST /marks", "Origin: http://evil.example\r\n", "x"), 403);
    assert_eq!(
        status("POST /marks", &format!("Origin: http://{}\r\n", run.address), "from its own page"),
        201
    );
    assert_eq!(status("POST /marks", "", &"x".repeat(1_025)), 413);
    assert_eq!(status("POST /marks", "", &"x".repeat(1_024)), 201);
    assert_eq!(status("GET /", &format!("X-Long: {}\r\n", "x".repeat(20_000)), ""), 431);
    assert_eq!(status("DELETE /", "", ""), 405);
    assert_eq!(status("GET /marks", "", ""), 405);
    assert_eq!(status("GET /update?after=x", "", ""), 400);
    assert_eq!(status("GET /etc/passwd", "", ""), 404);
    run.running.signal(Signal::INT);
    run.running.end();
}

/// Silent connections fill all that the server has, until they have sent no request for too long; readers who do not read
/// are not waited for.
#[test]
fn clients_that_send_nothing_or_read_nothing_hold_up_nothing() {
    let mut run = LiveRun::start(20, &["--live=127.0.0.1:0"]);
    let silent: Vec<TcpStream> = (0..40).map(|_| run.connect()).collect();
    assert_eq!(run.get("/").status, 200);
    let deaf: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = run.connect();
            write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream
        })
        .collect();
    let half: Vec<TcpStream> = (0..20)
        .map(|_| {
            let mut stream = run.connect();
            write!(stream, "POST /marks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf")
                .unwrap();
            stream
        })
        .collect();
    let file = run.folder.path("run.html");
    run.running.until("its report", || std::fs::metadata(&file).is_ok_and(|file| file.len() > 0));
    let ran = run.running.end();
    ran.exits_with(0);
    drop((silent, deaf, half));
}

#[test]
fn off_loopback_a_token_is_needed_that_is_printed_and_kept_nowhere() {
    let run = LiveRun::start(60, &["--live=0.0.0.0:0"]);
    let token = run.url.split("?token=").nth(1).unwrap();
    assert_eq!(token.len(), 64, "{}", run.url);
    assert_eq!(run.get("/").status, 401);
    assert_eq!(run.get("/update?after=0").status, 401);
    assert_eq!(run.ask("POST /marks", "", "x").status, 401);
    assert_eq!(
        run.get(&format!("/?token={}0", &token[..63])).status,
        if token.ends_with('0') { 303 } else { 401 }
    );
    let entered = run.get(&format!("/?token={token}"));
    assert_eq!(entered.status, 303, "{}", entered.body);
    assert!(entered.head.contains("httponly; samesite=strict") && entered.head.contains("location: ./"));
    let cookie = entered.head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(run.ask("GET /", &cookie, "").status, 200);
    assert_eq!(run.ask("GET /", &format!("{cookie}Host: evil.example\r\n"), "").status, 421);
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(run.ask("POST /marks", &bearer, "deployed").status, 201);
    let token = token.to_owned();
    run.running.signal(Signal::INT);
    let ran = run.running.end();
    assert_eq!(ran.stderr.matches(&token).count(), 1, "{}", ran.stderr);
    let has_token =
        |name: &str| String::from_utf8_lossy(&std::fs::read(run.folder.path(name)).unwrap()).contains(&token);
    assert!(!has_token("run.plimsoll") && !has_token("run.html") && !ran.stdout.contains(&token));
}

/// The witness is the kernel, which counts the time of each thread on a processor.
#[test]
fn the_page_takes_a_hundredth_of_a_processor_at_most() {
    let run = LiveRun::start(12, &["--live=127.0.0.1:0"]);
    let tasks = run.running.status_file().with_file_name("task");
    let mut spent_ns = 0;
    let mut pages = 0;
    loop {
        let answer = run.get(&format!("/update?after={pages}"));
        if answer.body.contains("class=\"over\"") {
            break;
        }
        assert_eq!(answer.status, 200, "{}", answer.body);
        pages = version(&answer.body);
        spent_ns = spent_ns.max(processor_ns(&tasks));
    }
    let seconds = Stored::open(&run.folder.path("run.plimsoll")).unwrap().recorded().as_secs_f64();
    run.running.end().exits_with(0);
    let spent_s = spent_ns as f64 / 1e9;
    assert!(pages >= 2, "{pages} pages");
    // What the last page took is spent before its share of the time is over.
    let of_last = spent_s / pages as f64 * 2.0;
    assert!(spent_s <= seconds / 100.0 + of_last, "{spent_s} s for {pages} pages in {seconds} s");
}

/// The time that the threads of the page have had on a processor.
fn processor_ns(tasks: &Path) -> u64 {
    let of_task = |folder: std::fs::DirEntry| {
        let name = std::fs::read_to_string(folder.path().join("comm")).unwrap_or_default();
        let time = std::fs::read_to_string(folder.path().join("schedstat")).unwrap_or_default();
        let time = time.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
        if name.starts_with("live") { time } else { 0 }
    };
    std::fs::read_dir(tasks).map_or(0, |folders| folders.map_while(Result::ok).map(of_task).sum())
}

#[test]
fn a_page_that_cannot_be_served_is_reported_before_anything_is_sent() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let at = format!("--live={}", taken.local_addr().unwrap());
    folder
        .plimsoll(&["run", "plan.toml", &at])
        .exits_with(2)
        .stderr_contains(&["--live: cannot serve a page at 127.0.0.1"]);
    let pods = ["run", "plan.toml", "--live", "--kubernetes", "2", "--image", "plimsoll"];
    folder.plimsoll(&pods).exits_with(2).stderr_contains(&["a pod records it", "--out"]);
    // The same with a blank, and as a port alone.
    let port = taken.local_addr().unwrap().port().to_string();
    for at in [taken.local_addr().unwrap().to_string(), port] {
        let next = "another program listens there; give another port";
        folder.plimsoll(&["run", "plan.toml", "--live", &at]).exits_with(2).stderr_contains(&[next]);
    }
    folder
        .plimsoll(&["run", "plan.toml", "--live=http://x"])
        .exits_with(2)
        .stderr_contains(&["is not an address"]);
    assert_eq!(target.log().len(), 0);
}

#[test]
fn a_lost_worker_is_in_the_head_of_the_page_while_the_run_goes_on() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 30));
    let arguments = ["run", "plan.toml", "-o", "run.plimsoll", "--live=127.0.0.1:0", "--workers", "3"];
    let mut run = LiveRun::start_in(folder, target, &arguments);
    let path = run.folder.path("run.plimsoll");
    run.running.until("seconds are recorded", || recorded_seconds(&path) >= 2);
    kill_process(worker_pids(&path)[0], Signal::KILL).unwrap();
    let mut newest = 0;
    loop {
        let answer = run.get(&format!("/update?after={newest}"));
        if answer.status != 200 {
            continue;
        }
        newest = version(&answer.body);
        let head = answer.body.split("<nav").next().unwrap();
        let is_said = head.contains("worker 1 (127.0.0.1:") && head.contains("INVALID so far, L1");
        assert!(is_said || !answer.body.contains("class=\"over\""), "{head}");
        if is_said {
            return;
        }
    }
}
