//! Peers that send without end, or much more than they claim. The kernel refuses the command more memory than the
//! bound that docs/security.md states, and the command ends as it would otherwise.

mod databases;
mod http;
mod http2;
mod reflection;
mod scripts;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::command::TestFolder;

/// What the command takes beside what peers can make it take: its threads' stacks and buffers.
const BASE_MIB: u64 = 96;

/// Serves every connection on a thread of its own, until its peer goes away or the test has ended.
fn serve(answer: impl Fn(TcpStream) -> std::io::Result<()> + Send + Sync + Clone + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            thread::spawn(move || answer(stream));
        }
    });
    address
}

/// Runs `plan` with so much memory beyond the command's own; its report must contain each of `texts`.
#[track_caller]
fn run_within(mib: u64, plan: &str, texts: &[&str]) {
    let folder = TestFolder::new(plan);
    let limit = format!("ulimit -d {}", (BASE_MIB + mib) * 1024);
    let ran = folder
        .plimsoll_after(&limit, &["run", "plan.toml", "--quiet", "--json", "run.json", "--html", "run.html"]);
    eprintln!("at most {} MiB, bound {mib} + {BASE_MIB} MiB", ran.peak_mib);
    assert!(matches!(ran.code, Some(0 | 1 | 3)), "{:?} {:?}\n{}", ran.code, ran.signal, ran.stderr);
    let (report, page) = (folder.read("run.json"), folder.read("run.html"));
    for text in texts {
        assert!(report.contains(text) || page.contains(text), "no {text:?} in:\n{}\n{report}", ran.stderr);
    }
}

/// Runs a k6 script with so much memory beyond the command's own; its log must contain each of `texts`.
#[track_caller]
fn run_script_within(mib: u64, script: &str, texts: &[&str]) {
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    // The allocator reserves a gigabyte at once where it may, which the kernel counts as if it were used.
    let limit = format!("export MIMALLOC_ARENA_EAGER_COMMIT=0; ulimit -d {}", (BASE_MIB + mib) * 1024);
    let arguments = ["run", "script.js", "--quiet", "--k6-exit-codes", "--evidence", "run.plimsoll"];
    let ran = folder.plimsoll_after(&limit, &arguments);
    eprintln!("{texts:?}: at most {} MiB, bound {mib} + {BASE_MIB} MiB", ran.peak_mib);
    ran.exits_with(0).stderr_contains(texts);
}

/// A load for as long as observers need to query a few times, on a target beside those that `targets` describes.
fn quiet_load(targets: &str) -> String {
    let healthy = testbed::http(testbed::Behaviour::ok()).unwrap();
    let address = healthy.addr();
    // It serves until the test has ended.
    std::mem::forget(healthy);
    format!(
        "version = 1\nprecheck = false\n[targets.web]\nurl = \"http://{address}\"\n{targets}\n\
         [[phases]]\nname = \"steady\"\nduration = \"3s\"\n\
         [[scenarios]]\nname = \"s\"\nexecutor = \"constant-arrival-rate\"\nrate = \"10/s\"\nphases = [\"steady\"]\n\
         [[scenarios.steps]]\nname = \"get\"\nget = \"${{web.url}}/\"\n"
    )
}
