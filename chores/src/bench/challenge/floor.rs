//! The limit of this machine: wrk against nginx, with a response of 23 bytes and with one as long as a list. Figures of
//! other machines are scaled by it.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::fixture::{BenchContext, Setup};
use super::options::Options;
use super::player::Player;
use super::store::{Store, StoreKind};
use crate::bench::nginx::Nginx;
use crate::bench::table::{Table, count, figure};
use crate::bench::{CpuPlacement, find_program, print_command, proc};
use xtask::workspace::Workspace;

const ANSWER: &str = "{\"status\":\"is running\"}";

/// Measures both responses, if both programs are installed.
///
/// # Errors
/// When a program that is installed fails.
pub(super) fn measure(workspace: &Workspace, options: &Options) -> Result<Table> {
    let head = &["answer", "a second", "per CPU-second of nginx", "p50 ms", "p99 ms", "nginx cores"];
    let mut table = Table { title: "The floor: wrk against nginx".to_owned(), head, ..Table::default() };
    let missing: Vec<&str> =
        ["wrk", "nginx"].into_iter().filter(|program| find_program(program).is_none()).collect();
    if !missing.is_empty() {
        let note = format!(
            "not measured: {} not found (Debian's packages `wrk` and `nginx-light`)",
            missing.join(" and ")
        );
        table.notes.push(note);
        return Ok(table);
    }
    let folder = workspace.scratch("bench-challenge-floor")?;
    fs::write(folder.join("list"), list(workspace, options, &folder)?).context("cannot write the list")?;
    let mut nginx = Nginx::start(&folder, CpuPlacement::Anywhere, &[server])?;
    let (pid, port) = (nginx.pid(), nginx.port(0));
    let length = fs::metadata(folder.join("list")).context("it was written")?.len();
    let answers = [
        (format!("{} bytes, fixed", ANSWER.len()), "fixed"),
        (format!("{length} bytes, a list from a file"), "list"),
    ];
    for (name, path) in answers {
        let before = proc::family_cpu_s(pid)?;
        let output = wrk(&format!("http://127.0.0.1:{port}/{path}"), options.seconds())?;
        let cores = (proc::family_cpu_s(pid)? - before) / options.seconds() as f64;
        let per_s = per_s(&output).with_context(|| format!("wrk gave no rate: {output}"))?;
        table.rows.push(vec![
            name,
            count(per_s),
            count(per_s / cores.max(f64::MIN_POSITIVE)),
            figure(latency_ms(&output, "50%"), 2),
            figure(latency_ms(&output, "99%"), 2),
            figure(Some(cores), 2),
        ]);
    }
    nginx.stop()?;
    Ok(table)
}

/// The service's response with all goals.
fn list(workspace: &Workspace, options: &Options, folder: &Path) -> Result<Vec<u8>> {
    let store = Store::start(StoreKind::Sqlite, folder.to_owned())?;
    let context = BenchContext {
        workspace,
        options,
        store: &store,
        folder: folder.to_owned(),
        prepared: OnceCell::new(),
    };
    let fixture = context.fixture(&Setup::default())?;
    let body = Player::connect(fixture.service.address("http")?)?.request("GET", "challenges", "player-1")?;
    fixture.end()?;
    Ok(body)
}

fn server(port: u16) -> String {
    format!(
        "server {{\n    listen 127.0.0.1:{port};\n    root .;\n    default_type application/json;\n    \
         location = /fixed {{ return 200 '{ANSWER}'; }}\n  }}\n"
    )
}

fn wrk(url: &str, seconds: u64) -> Result<String> {
    let mut command = Command::new("wrk");
    command.args(["--threads", "1", "--connections", "64", "--latency", "--duration"]);
    command.arg(format!("{seconds}s")).arg(url);
    print_command(&command);
    let output = command.output().context("cannot start wrk")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "wrk ended with {}", output.status);
    ensure!(!text.contains("Non-2xx"), "nginx gave errors: {text}");
    Ok(text)
}

fn per_s(output: &str) -> Option<f64> {
    output.lines().find_map(|line| line.strip_prefix("Requests/sec:"))?.trim().parse().ok()
}

/// A line such as `     99%    1.25ms`.
fn latency_ms(output: &str, quantile: &str) -> Option<f64> {
    let text = output.lines().find_map(|line| line.trim().strip_prefix(quantile))?.trim();
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3)];
    units.iter().find_map(|(unit, ms)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "Running 3s test @ http://127.0.0.1:1/\n  Latency Distribution\n     50%  570.00us\n     \
                        99%    1.25ms\n   99.9%    2.00s\n  9 requests in 3.00s\nRequests/sec: 104213.37\n";

    #[test]
    fn the_output_of_wrk_is_read_with_its_units() {
        assert_eq!(per_s(OUTPUT), Some(104_213.37));
        for (quantile, expect) in [("50%", 0.57), ("99%", 1.25), ("99.9%", 2000.0)] {
            let ms = latency_ms(OUTPUT, quantile).expect("it is there");
            assert!((ms - expect).abs() < 1e-9, "{quantile}: {ms}");
        }
        assert_eq!((latency_ms(OUTPUT, "75%"), per_s("unable to connect")), (None, None));
    }

    #[test]
    fn the_fixed_response_has_the_documented_length() {
        assert_eq!(ANSWER.len(), 23);
    }
}
