//! What this machine can do at all: wrk against nginx, with an answer of 23 bytes and with one as long as a list.
//! Figures of other machines are scaled by it.

use std::cell::OnceCell;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use peers::poll;

use super::lab::{Lab, Setup};
use super::options::Options;
use super::player::Player;
use super::store::{Kind, Store};
use crate::bench::table::{Table, count, figure};
use crate::bench::{found, proc, say};
use crate::child::Running;
use crate::workspace::Workspace;

const ANSWER: &str = "{\"status\":\"is running\"}";
const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// Asks nginx in both ways, where both programs are there.
///
/// # Errors
/// When one of them is there and does not do what it should.
pub(super) fn measure(workspace: &Workspace, options: &Options) -> Result<Table> {
    let head = &["answer", "a second", "per CPU-second of nginx", "p50 ms", "p99 ms", "nginx cores"];
    let mut table = Table { title: "The floor: wrk against nginx".to_owned(), head, ..Table::default() };
    let missing: Vec<&str> =
        ["wrk", "nginx"].into_iter().filter(|program| found(program).is_none()).collect();
    if !missing.is_empty() {
        let note = format!(
            "not measured: {} not found (Debian's packages `wrk` and `nginx-light`)",
            missing.join(" and ")
        );
        table.notes.push(note);
        return Ok(table);
    }
    let folder = workspace.scratch("bench-challenge-floor")?;
    fs::write(folder.join("list"), list(workspace, (options, &folder))?).context("cannot keep a list")?;
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
    let port = port.context("the system has no free port")?.port();
    fs::write(folder.join("nginx.conf"), configuration(port)).context("cannot write nginx's settings")?;
    let mut command = Command::new(found("nginx").context("it was found")?);
    command.arg("-p").arg(&folder).args(["-e", "error.log", "-c"]).arg(folder.join("nginx.conf"));
    command.stdin(Stdio::null());
    say(&command);
    let mut nginx = Running::start("nginx", command)?;
    let pid = nginx.child().id();
    let listens = poll::until(LISTENS_WITHIN, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    ensure!(listens, "nginx did not listen within {} s", LISTENS_WITHIN.as_secs());
    let length = fs::metadata(folder.join("list")).context("it was written")?.len();
    let answers = [
        (format!("{} bytes, fixed", ANSWER.len()), "fixed"),
        (format!("{length} bytes, a list from a file"), "list"),
    ];
    for (name, path) in answers {
        let before = proc::family_cpu_s(pid)?;
        let said = wrk(&format!("http://127.0.0.1:{port}/{path}"), options.seconds())?;
        let cores = (proc::family_cpu_s(pid)? - before) / options.seconds() as f64;
        let per_s = per_s(&said).with_context(|| format!("wrk gave no rate: {said}"))?;
        table.rows.push(vec![
            name,
            count(per_s),
            count(per_s / cores.max(f64::MIN_POSITIVE)),
            figure(latency_ms(&said, "50%"), 2),
            figure(latency_ms(&said, "99%"), 2),
            figure(Some(cores), 2),
        ]);
    }
    nginx.stop(LISTENS_WITHIN)?;
    Ok(table)
}

/// What the service answers when all goals are listed.
fn list(workspace: &Workspace, (options, folder): (&Options, &Path)) -> Result<Vec<u8>> {
    let store = Store::start(Kind::Sqlite, folder.to_owned())?;
    let lab = Lab { workspace, options, store: &store, folder: folder.to_owned(), prepared: OnceCell::new() };
    let stand = lab.stand(&Setup::default())?;
    let body = Player::connect(stand.service.address("http")?)?.ask(("GET", "challenges", "somebody"))?;
    stand.end()?;
    Ok(body)
}

/// Paths without a leading `/` are in the folder that nginx is given.
fn configuration(port: u16) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {kind};\n"))
        .concat();
    format!(
        "daemon off;\nworker_processes 1;\npid nginx.pid;\nerror_log error.log;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 100000000;\n\
         open_file_cache max=10;\n  default_type application/json;\n{temporary}\
         server {{\n    listen 127.0.0.1:{port};\n    root .;\n\
         location = /fixed {{ return 200 '{ANSWER}'; }}\n  }}\n}}\n"
    )
}

fn wrk(url: &str, seconds: u64) -> Result<String> {
    let mut command = Command::new("wrk");
    command.args(["--threads", "1", "--connections", "64", "--latency", "--duration"]);
    command.arg(format!("{seconds}s")).arg(url);
    say(&command);
    let output = command.output().context("cannot start wrk")?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "wrk ended with {}", output.status);
    ensure!(!said.contains("Non-2xx"), "nginx did not answer well: {said}");
    Ok(said)
}

fn per_s(said: &str) -> Option<f64> {
    said.lines().find_map(|line| line.strip_prefix("Requests/sec:"))?.trim().parse().ok()
}

/// A line such as `     99%    1.25ms`.
fn latency_ms(said: &str, quantile: &str) -> Option<f64> {
    let text = said.lines().find_map(|line| line.trim().strip_prefix(quantile))?.trim();
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    units.iter().find_map(|(unit, ms)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Running 3s test @ http://127.0.0.1:1/\n  Latency Distribution\n     50%  570.00us\n     \
                        99%    1.25ms\n   99.9%    2.00s\n  9 requests in 3.00s\nRequests/sec: 104213.37\n";

    #[test]
    fn what_wrk_says_is_read_in_its_units() {
        assert_eq!(per_s(SAID), Some(104_213.37));
        for (quantile, expect) in [("50%", 0.57), ("99%", 1.25), ("99.9%", 2000.0)] {
            let ms = latency_ms(SAID, quantile).expect("it is there");
            assert!((ms - expect).abs() < 1e-9, "{quantile}: {ms}");
        }
        assert_eq!((latency_ms(SAID, "75%"), per_s("unable to connect")), (None, None));
    }

    #[test]
    fn the_fixed_answer_has_the_length_that_others_measured_with() {
        assert_eq!(ANSWER.len(), 23);
    }
}
