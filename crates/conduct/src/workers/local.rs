//! Worker processes on this machine, which a run starts and ends.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use cluster::Token;

use super::{LISTENING, TOKEN_VARIABLE};
use crate::failure::{CommandResult, Failure};

/// How long a worker may take to end by itself after the run.
const END_LIMIT: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Worker processes, which end with this.
pub(crate) struct LocalWorkers {
    workers: Vec<LocalWorker>,
}

struct LocalWorker {
    process: Child,
    address: String,
}

impl LocalWorkers {
    /// Start so many workers, which know the token, and wait until they listen.
    pub(crate) fn start(count: u16, token: &Token, patience: Duration) -> CommandResult<LocalWorkers> {
        let mut started = LocalWorkers { workers: Vec::new() };
        let program = std::env::current_exe().context("this program's own file is not known");
        let program = program.map_err(Failure::own)?;
        for _ in 0..count {
            // A group of its own: a Ctrl-C at the terminal is for the coordinator, which drains its workers.
            let process = Command::new(&program)
                .args(["worker", "--listen", "127.0.0.1:0", "--with-parent"])
                .env(TOKEN_VARIABLE, token.text())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .with_context(|| format!("a worker cannot be started: {}", program.display()))
                .map_err(Failure::own)?;
            started.workers.push(LocalWorker { process, address: String::new() });
        }
        for (index, worker) in started.workers.iter_mut().enumerate() {
            let address = worker.listening(patience).with_context(|| format!("worker {}", index + 1));
            worker.address = address.map_err(Failure::own)?;
        }
        Ok(started)
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        self.workers.iter().map(|worker| worker.address.clone()).collect()
    }
}

impl LocalWorker {
    /// Where it listens, which its first line says.
    fn listening(&mut self, patience: Duration) -> anyhow::Result<String> {
        let output = self.process.stdout.take().context("its output is not there")?;
        let (lines, first) = channel();
        thread::Builder::new().name("worker-output".to_owned()).spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            // The reader has given up waiting.
            let _ = lines.send(read.map(|_| line));
        })?;
        let line = first
            .recv_timeout(patience)
            .map_err(|_| anyhow!("it was started and does not listen after {} s", patience.as_secs()))??;
        let address = line.trim_end().strip_prefix(LISTENING).map(str::to_owned);
        address.ok_or_else(|| anyhow!("it has ended before it listened; its reason is above"))
    }

    fn end(&mut self) {
        let deadline = Instant::now() + END_LIMIT;
        while Instant::now() < deadline {
            match self.process.try_wait() {
                Ok(None) => thread::sleep(LOOK_INTERVAL),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        // One that does not end by itself, or was stopped.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for LocalWorkers {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.end();
        }
    }
}
