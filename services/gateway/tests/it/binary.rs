//! The real binary: its commands, its exit codes, and its shutdown.

use peers::service::refused;
use testkit::process::{Process, assert_health};

use crate::process::{BINARY, serving, started};
use crate::support::Home;

#[test]
fn unusable_settings_are_refused_by_name() {
    let home = Home::new();
    let blocker = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = blocker.local_addr().unwrap().port().to_string();
    let folder = home.path().display().to_string();
    for (settings, expect) in [
        (
            vec![("HTTP_PORT", port.as_str())],
            format!("cannot listen on 127.0.0.1:{port} for HTTP (HTTP_PORT)"),
        ),
        (vec![("WORKERS", "0")], "WORKERS=\"0\" cannot be used: a whole number from 1 to 1024".to_owned()),
        (vec![("RUNTIME_THREADS", "none")], "RUNTIME_THREADS=\"none\" cannot be used".to_owned()),
        (
            vec![("SINK", "file"), ("SINK_FILE", folder.as_str())],
            format!("{folder} (SINK_FILE) cannot be appended to"),
        ),
        (vec![("SINK", "redis"), ("REDIS_URL", "amqp://x")], "REDIS_URL cannot be used".to_owned()),
        (
            vec![("DURABILITY", "disk"), ("JOURNAL_DIR", "/proc/none")],
            "(JOURNAL_DIR) cannot be used".to_owned(),
        ),
    ] {
        let message = refused(&mut serving(&settings));
        assert!(message.contains(&expect), "{message}");
    }
}

#[test]
fn a_gateway_that_loses_acknowledged_samples_says_so_at_its_start() {
    let home = Home::new();
    let (log, journal, file) = (home.path().join("log"), home.at("journal"), home.at("tasks"));
    let durable = [("DURABILITY", "disk"), ("JOURNAL_DIR", &journal), ("SINK", "file"), ("SINK_FILE", &file)];
    for (settings, memory, none) in
        [([].as_slice(), true, true), (&durable[..2], false, true), (&durable, false, false)]
    {
        let stderr = std::fs::File::create(&log).unwrap();
        assert!(Process::start_logging(&mut serving(settings), stderr).terminate().success());
        let text = std::fs::read_to_string(&log).unwrap();
        let warns = |of: &str| text.lines().any(|line| line.contains("WARN") && line.contains(of));
        assert_eq!((warns("DURABILITY=memory"), warns("SINK=none")), (memory, none), "{text}");
    }
}

#[test]
fn a_journal_in_use_is_refused() {
    let home = Home::new();
    let folder = home.at("journal");
    let settings = [("DURABILITY", "disk"), ("JOURNAL_DIR", folder.as_str())];
    let process = started(&settings);
    let message = refused(&mut serving(&settings));
    assert!(message.contains("another process uses it"), "{message}");
    process.kill();
    assert!(started(&settings).terminate().success(), "a lock does not outlive its process");
}

#[test]
fn health_distinguishes_a_ready_process_from_none() {
    assert_health(started(&[]), BINARY, "admin", "ADMIN_PORT");
}
