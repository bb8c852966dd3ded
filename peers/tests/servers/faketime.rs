//! A clock that is set while a process runs: a script that prints the time for every line of input.

use peers::faketime::Clock;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

#[test]
#[expect(clippy::disallowed_methods, reason = "the shown time is compared with the true one")]
fn a_clock_is_set_while_a_process_runs() {
    let clock = Clock::start().unwrap();
    let mut script = Command::new("perl");
    script.args(["-e", r#"$| = 1; while (<STDIN>) { print time, "\n" }"#]).envs(clock.env());
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut asks, output) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    let mut answers = BufReader::new(output).lines();
    for expect in [0, -3600, 86_400, 0] {
        clock.set(expect).unwrap();
        asks.write_all(b"\n").unwrap();
        let shown_s: i64 = answers.next().unwrap().unwrap().parse().unwrap();
        let ahead_s = shown_s - SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        assert!((expect - 60..=expect + 60).contains(&ahead_s), "{ahead_s} s instead of {expect} s");
    }
    drop(asks);
    assert!(script.wait().unwrap().success());
}
