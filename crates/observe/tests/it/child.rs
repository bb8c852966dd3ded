//! A child process: this test program once more, in a role.
//!
//! It does one thing at each line it is sent, answers with a line, and ends when its input does, so that
//! no child outlives its test.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Set for a program that is a child.
const ROLE: &str = "OBSERVE_TEST_CHILD";
/// Prefix of each answer, which distinguishes it from the test harness's output.
const MARK: &str = "child:";

/// What a child does when it is run as one; nothing when it is run as a test.
#[test]
fn serves_its_parent() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let (mut listener, mut child) = (None, None::<Child>);
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let (order, argument) = line.split_once(' ').unwrap_or((&line, ""));
        let answer = match order {
            "cpu" => cpu_time().as_nanos().to_string(),
            "burn" => {
                burn(Duration::from_millis(argument.parse().unwrap()));
                cpu_time().as_nanos().to_string()
            }
            "listen" => {
                let socket = TcpListener::bind(format!("127.0.0.1:{argument}")).unwrap();
                let port = socket.local_addr().unwrap().port();
                listener = Some(socket);
                port.to_string()
            }
            // A child of its own, which works and then waits for the order to end.
            "child" => {
                let shell = shell(argument);
                let pid = shell.id();
                child = Some(shell);
                pid.to_string()
            }
            "bury" => {
                // Its input ends, and so does it.
                let mut shell = child.take().unwrap();
                drop(shell.stdin.take());
                shell.wait().unwrap();
                String::new()
            }
            "close" => {
                drop(listener.take());
                String::new()
            }
            other => panic!("no such order: {other}"),
        };
        let mut out = io::stdout();
        writeln!(out, "\n{MARK}{answer}").unwrap();
        out.flush().unwrap();
    }
}

/// A shell that has counted to `count` when this returns, and waits.
fn shell(count: &str) -> Child {
    let script = format!("i=0; while [ $i -lt {count} ]; do i=$((i+1)); done; echo done; read -r line");
    let mut shell = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
    shell
}

fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.try_into().unwrap(), spent.tv_nsec.try_into().unwrap())
}

/// Uses so much CPU time, half of it in a thread that has ended when this returns.
fn burn(time: Duration) {
    let spin = |until: Duration| while cpu_time() < until {};
    let start = cpu_time();
    thread::scope(|scope| {
        scope.spawn(|| spin(start + time / 2));
    });
    spin(start + time);
}

/// A child that is running; killed when dropped.
pub(crate) struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn new() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child::serves_its_parent", "--nocapture"])
            .env(ROLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let orders = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Peer { child, orders, answers }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has it do something, and waits for its answer.
    pub(crate) fn order(&mut self, order: &str) -> String {
        writeln!(self.orders, "{order}").unwrap();
        loop {
            let mut line = String::new();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "the child ended");
            if let Some(answer) = line.strip_prefix(MARK) {
                return answer.trim_end().to_owned();
            }
        }
    }

    /// CPU time by its own account.
    pub(crate) fn cpu(&mut self, order: &str) -> Duration {
        Duration::from_nanos(self.order(order).parse().unwrap())
    }

    /// Kills it and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it and leaves its number taken, as a parent does that does not look.
    pub(crate) fn kill_unseen(&mut self) {
        self.child.kill().unwrap();
        // Its output ends when it does.
        let mut rest = String::new();
        while self.answers.read_line(&mut rest).unwrap() > 0 {}
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // One that has ended already needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
