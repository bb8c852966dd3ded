//! A real Redis as the sink: refusing, stalled, restarted, under TLS. Accepted samples wait, and arrive.

use std::collections::BTreeSet;
use std::path::Path;

use hyper::StatusCode;
use peers::redis::Redis;
use serde_json::Value;
use testkit::process::Process;
use testkit::until;

use crate::process::started;
use crate::support::{Home, Server, sample, send};

/// The tasks in the list, the first one first.
pub(crate) fn listed(redis: &Redis) -> Vec<Value> {
    let client = redis::Client::open(format!("redis://{}", redis.address())).unwrap();
    let Ok(mut connection) = client.get_connection() else { return Vec::new() };
    let mut command = redis::cmd("LRANGE");
    command.arg("telemetry:tasks").arg(0).arg(-1);
    let tasks: Vec<String> = command.query(&mut connection).unwrap();
    tasks.iter().map(|task| serde_json::from_str(task).unwrap()).collect()
}

struct Fixture {
    redis: Redis,
    server: Server,
    _home: Home,
}

impl Fixture {
    async fn start() -> Self {
        let redis = Redis::start(&[]).unwrap();
        let home = Home::new();
        let (url, folder) = (format!("redis://{}", redis.address()), home.at("journal"));
        let settings = [
            ("SINK", "redis"),
            ("REDIS_URL", &url),
            ("SINK_TIMEOUT_MS", "200"),
            ("DURABILITY", "disk"),
            ("JOURNAL_DIR", &folder),
        ];
        Self { server: Server::start(&settings).await, redis, _home: home }
    }

    /// Sends samples with these values; each is acknowledged whatever Redis does.
    async fn send(&self, values: std::ops::Range<u32>) {
        for value in values {
            let (status, response) =
                send(self.server.client(), &sample("a", f64::from(value), "MEDIUM")).await;
            assert_eq!(status, StatusCode::ACCEPTED, "{response}");
        }
    }

    /// The values of the tasks in the list.
    fn listed(&self) -> Vec<u32> {
        let tasks = listed(&self.redis);
        tasks.iter().map(|task| task["payload"]["value"].as_f64().unwrap() as u32).collect()
    }

    async fn wait_for(&self, values: std::ops::Range<u32>) {
        let all: BTreeSet<u32> = values.collect();
        until("all are in the list", async || {
            let listed: BTreeSet<u32> = self.listed().into_iter().collect();
            listed.is_superset(&all)
        })
        .await;
    }

    async fn metric(&self, name: &str) -> f64 {
        self.server.admin().metric(name).await
    }
}

#[tokio::test]
async fn tasks_arrive_in_the_list_in_their_order() {
    let fixture = Fixture::start().await;
    fixture.send(0..20).await;
    fixture.wait_for(0..20).await;
    assert_eq!(fixture.listed(), (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn while_redis_refuses_the_breaker_opens_and_samples_wait_and_arrive_later() {
    let mut fixture = Fixture::start().await;
    fixture.redis.stop();
    fixture.send(0..20).await;
    until("the breaker is open", async || fixture.metric("gateway_sink_breaker_opened_total").await >= 1.0)
        .await;
    assert_eq!(fixture.server.client().get("/health").await.0, StatusCode::OK);
    fixture.send(20..40).await;
    fixture.redis.start_again().unwrap();
    fixture.wait_for(0..40).await;
    until("the queue is empty", async || fixture.metric("gateway_queue_depth").await == 0.0).await;
    assert_eq!(fixture.metric("gateway_sink_breaker_open").await, 0.0);
}

/// Samples in flight when it stalls may arrive twice, with the same id.
#[tokio::test]
async fn a_stalled_redis_times_out_and_no_sample_is_lost() {
    let fixture = Fixture::start().await;
    fixture.send(0..5).await;
    fixture.wait_for(0..5).await;
    fixture.redis.pause();
    fixture.send(5..30).await;
    until("it timed out", async || fixture.metric("gateway_sink_failures_total").await >= 1.0).await;
    fixture.redis.resume();
    fixture.wait_for(0..30).await;
}

#[tokio::test]
async fn a_restarted_redis_is_used_again() {
    let mut fixture = Fixture::start().await;
    fixture.send(0..5).await;
    fixture.wait_for(0..5).await;
    // This Redis keeps nothing on disk, so its list is empty after the restart.
    fixture.redis.stop();
    fixture.redis.start_again().unwrap();
    fixture.send(5..10).await;
    fixture.wait_for(5..10).await;
}

/// A gateway whose Redis is at `url`, which trusts the authority in a file.
fn under_tls(url: &str, authority: &Path) -> Process {
    let authority = authority.display().to_string();
    started(&[("SINK", "redis"), ("REDIS_URL", url), ("SSL_CERT_FILE", &authority)])
}

#[tokio::test]
async fn tasks_arrive_under_tls_and_only_at_a_server_whose_certificate_is_trusted() {
    let files = testkit::tls::folder();
    let (redis, address) =
        Redis::start_with_tls(&files.join("localhost.pem"), &files.join("localhost.key")).unwrap();
    let url = |host: &str| format!("rediss://{host}:{}/0", address.port());
    let authority = files.join("authority.pem");
    // An authority that did not sign the certificate; then a name that the certificate does not have.
    let other = files.join("localhost.pem");
    for (url, trusted) in [(url("localhost"), &other), (url("127.0.0.1"), &authority)] {
        let gateway = under_tls(&url, trusted);
        assert_eq!(send(gateway.client(), &sample("a", 1.0, "MEDIUM")).await.0, StatusCode::ACCEPTED);
        until("it was refused", async || gateway.admin().metric("gateway_sink_failures_total").await >= 1.0)
            .await;
        gateway.kill();
        assert_eq!(listed(&redis), Vec::<Value>::new(), "{url}");
    }
    let gateway = under_tls(&url("localhost"), &authority);
    assert_eq!(send(gateway.client(), &sample("a", 2.0, "MEDIUM")).await.0, StatusCode::ACCEPTED);
    until("it is in the list", async || listed(&redis).len() == 1).await;
}
