//! What runs inside the pods of a run. Each pod has one process that starts others: a worker in every pod, and in the first also
//! the run, which finds the workers by the names that the Service gives the pods. It hands signals on, and afterwards keeps the
//! run file until it was fetched.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use cluster::kubernetes::{DATA_FOLDER, RUN_FILE_VARIABLE, WORKER_EXIT, WORKER_PORT};
use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::screen::{self, note};
use conduct::signals::HandedOn;
use conduct::standard_output;
use evidence::TerminalText;
use rustix::process::{Pid, Signal, kill_process};
use sha2::{Digest as _, Sha256};

use crate::log::{RunFileLine, RunOf};

/// The variable in which Kubernetes gives a pod its index.
const INDEX: &str = "JOB_COMPLETION_INDEX";
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// How long one attempt to reach a worker may take.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(2);

const RUN_FILE: &str = "run.plimsoll";
const REPORT: &str = "report.txt";
const FETCHED: &str = "fetched";

fn data(name: &str) -> PathBuf {
    Path::new(DATA_FOLDER).join(name)
}

/// The run file: on a volume of its own where the pod was given one.
fn run_file() -> PathBuf {
    environment(RUN_FILE_VARIABLE).map_or_else(|| data(RUN_FILE), PathBuf::from)
}

/// What a pod is to offer.
pub struct PodOffer<'a> {
    /// How many pods there are.
    pub pods: u16,
    /// The name of the Job and of the Service that names its pods.
    pub service: &'a str,
    /// The keys of the run.
    pub keys: &'a Path,
    /// How many seconds workers have to be there, and then to be ready.
    pub start_limit_s: u32,
    /// How long the run file is kept, to be fetched.
    pub fetch_limit: Duration,
    /// The plan or script, and further arguments of `plimsoll run`.
    pub run: &'a [String],
    /// Whether that is a script.
    pub of_script: bool,
}

/// Write the run file to standard output.
pub fn send() -> CommandResult<()> {
    let mut file = File::open(run_file()).map_err(Failure::own)?;
    screen::write_stream(&mut file).map_err(Failure::own)
}

/// Say that the run file is where it belongs.
pub fn fetched() -> CommandResult<()> {
    File::create(data(FETCHED)).map(drop).map_err(Failure::own)
}

/// Stop arrivals and drain.
pub fn interrupt() -> CommandResult<()> {
    kill_process(Pid::INIT, Signal::INT).map_err(Failure::own)
}

/// Offer this pod's part of the load, and coordinate if it is the first; the exit code.
pub fn offer(asked: &PodOffer<'_>) -> CommandResult<u8> {
    let index = environment(INDEX).and_then(|index| index.parse::<u16>().ok());
    let index = index.with_context(|| format!("{INDEX} is not set: this runs in pods of an Indexed Job"));
    let index = index.map_err(Failure::usage)?;
    let mut signals = HandedOn::begin()?;
    if index > 0 {
        let listen = format!("0.0.0.0:{WORKER_PORT}");
        let worker = start_worker(&listen, asked.keys).and_then(|worker| ended(worker, &mut signals));
        return Ok(match worker {
            Ok(status) if status.success() => 0,
            // It has said why.
            Ok(_) => WORKER_EXIT,
            Err(failure) => {
                note(failure.text().trim_end());
                WORKER_EXIT
            }
        });
    }
    let local = format!("127.0.0.1:{WORKER_PORT}");
    let worker = start_worker(&local, asked.keys)?;
    let outcome = coordinate(asked, local, &mut signals);
    end(worker)?;
    let status = outcome?;
    let exit = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    match sealed_file(asked, exit)? {
        Some(file) => keep(&file, &mut signals, asked.fetch_limit)?,
        None => show_report()?,
    }
    Ok(exit)
}

/// The run itself, when every worker can be reached.
fn coordinate(asked: &PodOffer<'_>, local: String, signals: &mut HandedOn) -> CommandResult<ExitStatus> {
    let (service, limit) = (asked.service, Duration::from_secs(asked.start_limit_s.into()));
    let others = (1..asked.pods).map(|index| format!("{service}-{index}.{service}:{WORKER_PORT}"));
    let workers: Vec<String> = std::iter::once(local).chain(others).collect();
    let until = Instant::now() + limit;
    for worker in &workers {
        while !is_reached(worker) {
            if signals.take().is_some() {
                return Err(Failure::own(anyhow!("stopped before the load; nothing was recorded")));
            }
            if Instant::now() > until {
                return Err(Failure::usage(anyhow!(
                    "worker {worker} cannot be reached after {} s",
                    limit.as_secs()
                )));
            }
            thread::sleep(LOOK_INTERVAL);
        }
    }
    let report = File::create(data(REPORT)).map_err(Failure::own)?;
    let mut command = this_program()?;
    let evidence: &[&str] = match run_of(asked) {
        RunOf::Plan => &["--output"],
        // Of a script that is k6's option for values.
        RunOf::Script => &["--mark-report", "--evidence"],
    };
    command.arg("run").args(asked.run).args(evidence).arg(run_file()).arg("--worker-keys").arg(asked.keys);
    command.args(["--worker-timeout", &format!("{}s", asked.start_limit_s.clamp(1, 3_600))]);
    command.args(workers.iter().flat_map(|worker| ["--worker", worker]));
    // The report follows the line about the run file, so that progress ends with it.
    let run = command.stdout(report).spawn().context("the run cannot be started").map_err(Failure::own)?;
    ended(run, signals)
}

fn run_of(asked: &PodOffer<'_>) -> RunOf {
    if asked.of_script { RunOf::Script } else { RunOf::Plan }
}

/// Whether anything listens there. The name of a pod is known only once it has an address.
fn is_reached(address: &str) -> bool {
    let Ok(mut addresses) = address.to_socket_addrs() else { return false };
    addresses.any(|address| TcpStream::connect_timeout(&address, ATTEMPT_LIMIT).is_ok())
}

fn this_program() -> CommandResult<Command> {
    let program = std::env::current_exe().context("this program's own file is not known");
    let mut command = Command::new(program.map_err(Failure::own)?);
    // Signals are handed on by this process.
    command.stdin(Stdio::null()).process_group(0);
    Ok(command)
}

fn start_worker(listen: &str, keys: &Path) -> CommandResult<Child> {
    let mut command = this_program()?;
    command.args(["worker", "--with-parent", "--listen", listen, "--keys"]).arg(keys);
    // Where it listens is known.
    command.stdout(Stdio::null()).spawn().context("the worker cannot be started").map_err(Failure::own)
}

/// Wait for a process, and hand on the signals that come meanwhile.
fn ended(mut process: Child, signals: &mut HandedOn) -> CommandResult<ExitStatus> {
    loop {
        if let Some(status) = process.try_wait().map_err(Failure::own)? {
            return Ok(status);
        }
        while let Some(signal) = signals.take() {
            if let Some(pid) = i32::try_from(process.id()).ok().and_then(Pid::from_raw) {
                // It may have ended just now.
                let _ = kill_process(pid, signal);
            }
        }
        thread::sleep(LOOK_INTERVAL);
    }
}

/// A worker ends with its run; one that never had a run is ended.
fn end(mut worker: Child) -> CommandResult<()> {
    worker.kill().and_then(|()| worker.wait()).map(drop).map_err(Failure::own)
}

/// The run file, if there is one and it is whole: SQLite keeps a journal beside one that is not.
fn sealed_file(asked: &PodOffer<'_>, exit: u8) -> CommandResult<Option<RunFileLine>> {
    let path = run_file();
    let mut journal = path.clone().into_os_string();
    journal.push("-wal");
    if !path.exists() || Path::new(&journal).exists() {
        return Ok(None);
    }
    let digested = || -> io::Result<RunFileLine> {
        let (mut file, mut digest, mut part) = (File::open(&path)?, Sha256::new(), vec![0; 1 << 16]);
        let mut bytes = 0;
        loop {
            let read = file.read(&mut part)?;
            if read == 0 {
                let digits = hex::encode(digest.finalize());
                return Ok(RunFileLine { digest: digits, bytes, exit, of: run_of(asked) });
            }
            bytes += read as u64;
            digest.update(&part[..read]);
        }
    };
    digested().map(Some).map_err(Failure::own)
}

/// Say what can be fetched, and wait until it was.
fn keep(file: &RunFileLine, signals: &mut HandedOn, limit: Duration) -> CommandResult<()> {
    let mut text = TerminalText::default();
    text.line(file.text());
    standard_output::print(&text)?;
    show_report()?;
    let until = Instant::now() + limit;
    while !data(FETCHED).exists() && !signals.is_terminated() {
        if Instant::now() > until {
            note(format_args!("the run file was not fetched within {} s", limit.as_secs()));
            break;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    Ok(())
}

fn show_report() -> CommandResult<()> {
    match std::fs::read_to_string(data(REPORT)) {
        Ok(report) => standard_output::print_document(&report),
        // The run was not started.
        Err(_) => Ok(()),
    }
}
