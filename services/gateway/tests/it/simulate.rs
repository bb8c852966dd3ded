//! `gateway simulate` against a real gateway.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use testkit::process::Process;

use crate::process::{BINARY, started};

fn simulate(process: &Process, arguments: &[&str]) -> Child {
    let mut command = Command::new(BINARY);
    command.args(["simulate", "--url", &format!("http://{}", process.client().address)]).args(arguments);
    command.env_clear().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The number before a word in a line of progress.
fn number(line: &str, word: &str) -> u64 {
    let before = line.split(&format!(" {word}")).next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{word} in {line}"))
}

#[tokio::test]
async fn devices_send_until_ctrl_c_and_their_faults_show_at_the_gateway() {
    let process = started(&[]);
    let mut simulation = simulate(&process, &["--devices", "5", "--interval-ms", "20", "--faulty", "100"]);
    let mut lines = BufReader::new(simulation.stdout.take().unwrap()).lines();
    let introduction = lines.next().unwrap().unwrap();
    assert!(introduction.starts_with("5 devices send to http://127.0.0.1:"), "{introduction}");
    // Every device has been through its fault when some samples are invalid: a cycle takes 0.6 s.
    let seen =
        lines.by_ref().map(Result::unwrap).find(|line| line.contains(" s  ") && number(line, "invalid") > 0);
    let seen = seen.unwrap();
    assert!(number(&seen, "accepted") > 0 && number(&seen, "handed on") > 0, "{seen}");
    let (_, status) = process.client().get("/status?device=sim-002").await;
    assert!(status["latest_sample"]["seq"].as_u64().unwrap() > 0 && status["devices"] == 5, "{status}");
    assert_ne!(status["state"], "Idle", "devices are started: {status}");
    let interrupt = format!("kill -INT {}", simulation.id());
    let interrupted = Command::new("sh").args(["-c", &interrupt]).status().unwrap();
    assert!(interrupted.success());
    let last = lines.map(Result::unwrap).last().unwrap();
    assert!(last.starts_with("ended after ") && number(&last, "unanswered") <= 5, "{last}");
    assert!(simulation.wait().unwrap().success());
    let counted = process.client().get("/metrics").await.1;
    assert!(counted["samples_processed"].as_u64().unwrap() >= number(&last, "accepted"), "{counted} {last}");
}

#[tokio::test]
async fn it_ends_by_itself_after_the_asked_time() {
    let process = started(&[("ACCEPTED_STATUS", "200")]);
    let output = simulate(&process, &["--seconds", "1", "--devices", "3", "--faulty", "0"]);
    let output = output.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.lines().last().unwrap();
    assert!(output.status.success() && last.starts_with("ended after 1 s: "), "{text}");
    assert_eq!((number(last, "invalid"), number(last, "refused")), (0, 0), "{text}");
}

#[test]
fn without_a_gateway_or_a_token_it_says_what_to_do() {
    let refused = |mut command: Command| {
        let output = command.env_clear().output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let command = |arguments: &[&str]| {
        let mut command = Command::new(BINARY);
        command.arg("simulate").args(arguments);
        command
    };
    // Nothing listens on a port that was just free.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let missing = refused(command(&["--url", &format!("http://{free}")]));
    assert!(missing.contains("no gateway answers at") && missing.contains("gateway serve"), "{missing}");
    assert!(refused(command(&["--url", "amqp://x"])).contains("--url amqp://x cannot be used"));
    let no_file = refused(command(&["--token-file", "/none"]));
    assert!(no_file.contains("--token-file /none"), "{no_file}");
}

#[tokio::test]
async fn a_gateway_that_verifies_callers_refuses_it_without_a_token() {
    let home = crate::support::Home::new();
    let keys = home.at("keys.json");
    let document = json!({ "keys": [testkit::issuer::Signer::rsa("key").jwk()] });
    std::fs::write(&keys, document.to_string()).unwrap();
    let keys = format!("file://{keys}");
    let process = started(&[("AUTH_JWKS_URL", &keys), ("AUTH_ISSUER", "test")]);
    let mut simulation = simulate(&process, &["--interval-ms", "20"]);
    assert_eq!(simulation.wait().unwrap().code(), Some(2));
    let mut message = String::new();
    simulation.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert!(message.contains("refuses these samples (401") && message.contains("--token-file"), "{message}");
    let untouched: Value = process.client().get("/health").await.1;
    assert_eq!(untouched["status"], "ok");
}
