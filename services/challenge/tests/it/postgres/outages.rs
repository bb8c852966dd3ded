//! A PostgreSQL that is killed, stopped, stalled, locked or out of connections: acknowledged events are counted once,
//! the rest is refused, and the service recovers by itself. Each test has its own cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use challenge::role::Role;
use challenge::server::{Running, start};
use challenge::settings::Settings;
use hyper::StatusCode;
use kit::env::Env;
use kit::process::Service;
use peers::postgres::{Cluster, DATABASE, Options};
use testkit::until;
use tokio::task::JoinSet;
use tonic::Code;

use crate::support::{Player, Publisher};

const LOGIN_GOAL: &str = "goal-010-01";

async fn serve(cluster: &Cluster, more: &[(&str, &str)]) -> Running {
    let own = cluster.env();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let quick = [("DB_WRITERS", "2"), ("DB_READERS", "1"), ("DB_STATEMENT_TIMEOUT_MS", "500")];
    let pairs = crate::database::PORTS.into_iter().chain(own).chain(quick).chain(more.iter().copied());
    start(&Settings::read(&Env::from_pairs(pairs), Role::All).unwrap(), Role::All).await.unwrap()
}

fn cluster() -> Cluster {
    Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap()
}

/// Logs a user in with one id after the other until `stop`; returns the acknowledged ids.
async fn log_in_until(
    mut publisher: Publisher,
    user: String,
    stop: Arc<AtomicBool>,
) -> (String, Vec<String>) {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let id = number.to_string();
        match publisher.log_in(&user, &id).await {
            Ok(()) => acknowledged.push(id),
            Err(status) => {
                assert_eq!(status.code(), Code::Unavailable, "{status}");
                // A refused event is delivered again until it is acknowledged, as a publisher does.
                while publisher.log_in(&user, &id).await.is_err() && !stop.load(Ordering::Relaxed) {
                    tokio::task::yield_now().await;
                }
                if !stop.load(Ordering::Relaxed) {
                    acknowledged.push(id);
                }
            }
        }
    }
    (user, acknowledged)
}

/// Every acknowledged login counts once; the last one, without an answer, may or may not count.
async fn check(running: &Running, logins: Vec<(String, Vec<String>)>) {
    for (user, acknowledged) in logins {
        let goal = Player::new(running.addresses.http.unwrap(), &user).goal(LOGIN_GOAL).await;
        let counted = goal["progress"].as_u64().unwrap();
        let known = acknowledged.len() as u64;
        assert!((known..=known + 1).contains(&counted), "{user}: {known} acknowledged, {counted} counted");
    }
}

/// Runs load, then `fault` on the server, then more load.
async fn under_load(cluster: &mut Cluster, running: &Running, fault: impl AsyncFnOnce(&mut Cluster)) {
    let publisher = Publisher::connect(running.addresses.events.unwrap()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut load = JoinSet::new();
    for user in 0..8 {
        load.spawn(log_in_until(publisher.clone(), format!("user-{user}"), Arc::clone(&stop)));
    }
    let player = Player::new(running.addresses.http.unwrap(), "user-0");
    until("the first logins", async || player.goal(LOGIN_GOAL).await["progress"].as_u64() > Some(20)).await;
    fault(cluster).await;
    until("the service has recovered", async || player.get("/challenge/healthz").await.0 == StatusCode::OK)
        .await;
    until("events are accepted again", async || publisher.clone().log_in("late", "1").await.is_ok()).await;
    stop.store(true, Ordering::Relaxed);
    check(running, load.join_all().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_and_restarted_loses_and_duplicates_nothing() {
    let mut cluster = cluster();
    let running = serve(&cluster, &[]).await;
    let player = Player::new(running.addresses.http.unwrap(), "reader");
    under_load(&mut cluster, &running, async |cluster| {
        cluster.kill();
        until("readiness reports it", async || player.get("/challenge/healthz").await.0.as_u16() == 503)
            .await;
        let (status, refused) = player.get("/challenge/v1/challenges").await;
        assert_eq!((status.as_u16(), refused["errorCode"].as_str()), (503, Some("UNAVAILABLE")));
        cluster.start_again().unwrap();
    })
    .await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_under_load_is_survived() {
    let mut cluster = cluster();
    let running = serve(&cluster, &[]).await;
    under_load(&mut cluster, &running, async |cluster| {
        cluster.stop().unwrap();
        cluster.start_again().unwrap();
    })
    .await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_do_not_wait_for_a_stalled_server() {
    let mut cluster = cluster();
    let running = serve(&cluster, &[]).await;
    let player = Player::new(running.addresses.http.unwrap(), "reader");
    under_load(&mut cluster, &running, async |cluster| {
        cluster.pause();
        let (status, _) = player.get("/challenge/v1/challenges").await;
        assert_eq!(status.as_u16(), 503, "answered within the bound although the server never did");
        cluster.resume();
    })
    .await;
    running.stop().await;
}

/// Another client's lock blocks every write: the server cancels the statement, and the request is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_cancelled_and_the_request_refused() {
    let mut cluster = cluster();
    let running = serve(&cluster, &[]).await;
    let player = Player::new(running.addresses.http.unwrap(), "ann");
    player.initialize().await;
    under_load(&mut cluster, &running, async |cluster| {
        let mut lock = tokio_postgres::Config::new();
        lock.host(cluster.host()).port(cluster.port()).user("postgres").dbname(DATABASE);
        let (client, connection) = lock.connect(tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        client.batch_execute("BEGIN; LOCK TABLE user_goal_progress IN SHARE MODE").await.unwrap();
        let (status, refused) = player.set_active(LOGIN_GOAL, r#"{"isActive":false}"#).await;
        assert_eq!((status.as_u16(), refused["errorCode"].as_str()), (503, Some("UNAVAILABLE")));
        assert_eq!(
            player.goal(LOGIN_GOAL).await["isActive"],
            true,
            "reads continue, and nothing was changed"
        );
        client.batch_execute("ROLLBACK").await.unwrap();
        driver.abort();
    })
    .await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_free_connection_requests_are_refused_until_there_is_one() {
    let mut cluster =
        Cluster::start_with(&Options { fsync: false, max_connections: 12, ..Options::default() }).unwrap();
    let running = serve(&cluster, &[]).await;
    under_load(&mut cluster, &running, async |cluster| {
        let terminate =
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'challenge'";
        cluster.sql("postgres", &format!("ALTER ROLE {} CONNECTION LIMIT 0", peers::postgres::USER)).unwrap();
        cluster.sql("postgres", terminate).unwrap();
        let player = Player::new(running.addresses.http.unwrap(), "reader");
        until("readiness reports it", async || player.get("/challenge/healthz").await.0.as_u16() == 503)
            .await;
        cluster
            .sql("postgres", &format!("ALTER ROLE {} CONNECTION LIMIT -1", peers::postgres::USER))
            .unwrap();
    })
    .await;
    running.stop().await;
}

/// Buffered events were acknowledged, so they are kept until the server accepts them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buffered_events_survive_an_outage() {
    let mut cluster = cluster();
    let running = serve(&cluster, &[("EVENT_ACK", "buffered")]).await;
    let mut publisher = Publisher::connect(running.addresses.events.unwrap()).await;
    cluster.kill();
    for id in 0..50 {
        publisher.log_in("ann", &id.to_string()).await.unwrap();
    }
    cluster.start_again().unwrap();
    let ann = Player::new(running.addresses.http.unwrap(), "ann");
    until("all of them are counted", async || {
        let (status, list) = ann.get("/challenge/v1/challenges?active_only=true").await;
        status == StatusCode::OK && list.to_string().contains(r#""progress":50"#)
    })
    .await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_waits_for_the_server_and_reports_why_it_failed() {
    let cluster = cluster();
    let own = cluster.env();
    let pairs =
        || crate::database::PORTS.into_iter().chain(own.iter().map(|(name, value)| (*name, value.as_str())));
    let settings = |more: [(&'static str, &'static str); 2]| {
        Settings::read(&Env::from_pairs(pairs().chain(more)), Role::All).unwrap()
    };
    let refused = start(&settings([("DB_NAME", "nowhere"), ("DB_START_WITHIN_S", "30")]), Role::All).await;
    let message = refused.err().unwrap().to_string();
    assert!(
        message.contains("/nowhere cannot be used: database \"nowhere\" does not exist (3D000)"),
        "{message}"
    );
    let refused = start(&settings([("DB_PORT", "1"), ("DB_START_WITHIN_S", "0")]), Role::All).await;
    let message = refused.err().unwrap().to_string();
    assert!(message.contains(":1/service cannot be used: error connecting to server"), "{message}");
}

/// With `verify-full` every connection uses TLS, and a server without a trusted certificate is refused; with `require` any
/// certificate is accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tls_only_a_server_with_a_trusted_certificate_is_used() {
    let mut cluster = cluster();
    let folder = server_files(&cluster);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let settings = format!(
        "ALTER SYSTEM SET ssl_cert_file = '{}'; ALTER SYSTEM SET ssl_key_file = '{}'; ALTER SYSTEM SET ssl = on",
        path("localhost.pem"),
        path("localhost.key")
    );
    for statement in settings.split("; ") {
        cluster.sql("postgres", statement).unwrap();
    }
    cluster.stop().unwrap();
    cluster.start_again().unwrap();
    let serving = |mode: &str| {
        let mut command = std::process::Command::new(crate::process::BINARY);
        command.arg("all").env_clear().envs(crate::database::PORTS).envs(cluster.env());
        command.env("DB_HOST", "localhost").env("DB_SSLMODE", mode);
        command
    };
    let untrusted = serving("verify-full").output().unwrap();
    let message = String::from_utf8(untrusted.stderr).unwrap();
    assert_eq!(untrusted.status.code(), Some(2), "{message}");
    assert!(message.contains("UnknownIssuer") || message.contains("no authorities"), "{message}");
    let mut trusted = serving("verify-full");
    trusted.env("SSL_CERT_FILE", testkit::tls::authority());
    for mut command in [trusted, serving("require")] {
        let process = testkit::process::Process::start(&mut command);
        Player::new(process.address("http"), "ann").initialize().await;
        let connections = |condition: &str| {
            let all = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                       WHERE application_name = 'challenge' AND";
            cluster.sql("postgres", &format!("{all} {condition}")).unwrap().trim().parse::<u32>().unwrap()
        };
        assert_eq!(connections("NOT ssl"), 0);
        assert!(connections("ssl") > 0);
        assert!(process.terminate().success());
    }
}

/// The certificate and its key, owned by the server's user: PostgreSQL refuses a key that other users may read.
fn server_files(cluster: &Cluster) -> tempfile::TempDir {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let owner = std::fs::metadata(cluster.socket_folder()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["localhost.pem", "localhost.key"] {
        let copy = folder.path().join(name);
        std::fs::copy(testkit::tls::folder().join(name), &copy).unwrap();
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o600)).unwrap();
        chown(&copy, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    folder
}
