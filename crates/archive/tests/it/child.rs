//! A process of its own that writes a run: this very test binary, started again.
//!
//! Started by the test runner like any other test it does nothing; started by a test of ours it finds in
//! its environment which file to write, and obeys the lines on its standard input.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use archive::{Overwrite, Writer};
use evidence::Sink;

use crate::sample::{manifest, observed, tick};

const FILE: &str = "ARCHIVE_TEST_CHILD_WRITES";

/// The other process, with lines to it and from it.
pub(crate) struct Other {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// How the other process is to be started.
pub(crate) enum Limit {
    /// As it is.
    None,
    /// With files of at most this many blocks of 512 or 1024 bytes, and no signal when that is exceeded.
    Blocks(u32),
}

impl Other {
    /// A process that has created the run file at `path`.
    pub(crate) fn start(path: &Path, limit: Limit) -> Other {
        let this = std::env::current_exe().unwrap();
        let mut command = match limit {
            Limit::None => Command::new(this),
            Limit::Blocks(blocks) => {
                let mut shell = Command::new("sh");
                let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
                shell.args(["-c", &script, "sh"]).arg(this);
                shell
            }
        };
        command.args(["--exact", "child::obey", "--nocapture", "--test-threads=1"]).env(FILE, path);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let orders = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        let mut other = Other { process, orders, answers };
        other.wait_for("created");
        other
    }

    /// Give an order and wait for what it leads to.
    pub(crate) fn order(&mut self, order: &str) -> String {
        writeln!(self.orders, "{order}").unwrap();
        self.wait_for(order)
    }

    /// The rest of the next line that begins with `word`; the test runner's own lines are passed over.
    fn wait_for(&mut self, word: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.answers.read_line(&mut line).unwrap(), 0, "the other process ended");
            // The runner writes the test's name before the first line of ours.
            if let Some((_, rest)) = line.split_once(&format!("<{word}>")) {
                return rest.trim().to_owned();
            }
        }
    }

    /// End it as `kill -9` does.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn obey() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let mut out = std::io::stdout().lock();
    let mut writer = Writer::create(Path::new(&path), &manifest(), Overwrite::Refuse).unwrap();
    writeln!(out, "<created>").unwrap();
    out.flush().unwrap();
    let mut second = 0;
    for order in std::io::stdin().lines() {
        let order = order.unwrap();
        let answer = match order.as_str() {
            "write" => write_one(&mut writer, &mut second),
            "flush" => writer.flush().map(|()| second.to_string()),
            "fill" => {
                let failure = loop {
                    match write_one(&mut writer, &mut second).and_then(|_| writer.flush()) {
                        Ok(()) => {}
                        Err(error) => break error,
                    }
                };
                Ok(format!("{} {failure}", second - 1))
            }
            other => panic!("what is `{other}`?"),
        };
        writeln!(out, "<{order}> {}", answer.unwrap()).unwrap();
        out.flush().unwrap();
    }
}

fn write_one(writer: &mut Writer, second: &mut u32) -> Result<String, evidence::SinkError> {
    let at = *second;
    *second += 1;
    writer.tick(&tick(at))?;
    writer.observed(&observed(at))?;
    Ok(at.to_string())
}
