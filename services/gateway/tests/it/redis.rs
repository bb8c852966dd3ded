//! A real Redis as the sink: refused, slow, restarted. What was accepted waits, and arrives.

use crate::support::{Home, Server, metric, request, sample, until};
use hyper::{Method, StatusCode};
use peers::redis::Redis;
use serde_json::Value;
use std::collections::BTreeSet;

/// The tasks in the list, the first one first.
pub(crate) fn listed(redis: &Redis) -> Vec<Value> {
    let client = redis::Client::open(format!("redis://{}", redis.address())).unwrap();
    let Ok(mut connection) = client.get_connection() else { return Vec::new() };
    let mut command = redis::cmd("LRANGE");
    command.arg("telemetry:tasks").arg(0).arg(-1);
    let tasks: Vec<String> = command.query(&mut connection).unwrap();
    tasks.iter().map(|task| serde_json::from_str(task).unwrap()).collect()
}

struct Stand {
    redis: Redis,
    server: Server,
    _home: Home,
}

impl Stand {
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

    /// Sends samples of these values; each is acknowledged whatever Redis does.
    async fn send(&self, values: std::ops::Range<u32>) {
        for value in values {
            let (status, answer) = self.server.client().send(&sample("a", f64::from(value), "MEDIUM")).await;
            assert_eq!(status, StatusCode::ACCEPTED, "{answer}");
        }
    }

    /// The values of the tasks in the list.
    fn listed(&self) -> Vec<u32> {
        let tasks = listed(&self.redis);
        tasks.iter().map(|task| task["payload"]["value"].as_f64().unwrap() as u32).collect()
    }

    async fn has(&self, values: std::ops::Range<u32>) {
        let all: BTreeSet<u32> = values.collect();
        until("all are in the list", async || {
            let listed: BTreeSet<u32> = self.listed().into_iter().collect();
            listed.is_superset(&all)
        })
        .await;
    }

    async fn metric(&self, name: &str) -> f64 {
        let answer = self.server.admin().exchange(request(Method::GET, "/metrics", &[], "")).await.unwrap();
        metric(&String::from_utf8(answer.body).unwrap(), name).unwrap()
    }
}

#[tokio::test]
async fn tasks_arrive_in_the_list_in_their_order() {
    let stand = Stand::start().await;
    stand.send(0..20).await;
    stand.has(0..20).await;
    assert_eq!(stand.listed(), (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn while_redis_refuses_samples_wait_and_the_breaker_opens_and_they_arrive_when_it_is_back() {
    let mut stand = Stand::start().await;
    stand.redis.stop();
    stand.send(0..20).await;
    until("the breaker is open", async || stand.metric("gateway_sink_breaker_opened_total").await >= 1.0)
        .await;
    assert_eq!(stand.server.client().get("/health").await.0, StatusCode::OK);
    stand.send(20..40).await;
    stand.redis.start_again().unwrap();
    stand.has(0..40).await;
    until("nothing waits", async || stand.metric("gateway_queue_depth").await == 0.0).await;
    assert_eq!(stand.metric("gateway_sink_breaker_open").await, 0.0);
}

/// What was on its way when it stood still may arrive twice; its id tells.
#[tokio::test]
async fn a_redis_that_stands_still_is_not_waited_for_and_nothing_is_lost() {
    let stand = Stand::start().await;
    stand.send(0..5).await;
    stand.has(0..5).await;
    stand.redis.pause();
    stand.send(5..30).await;
    until("it was given up", async || stand.metric("gateway_sink_failures_total").await >= 1.0).await;
    stand.redis.resume();
    stand.has(0..30).await;
}

#[tokio::test]
async fn a_restarted_redis_is_found_again() {
    let mut stand = Stand::start().await;
    stand.send(0..5).await;
    stand.has(0..5).await;
    // It keeps nothing on disk: what it had been given is its own to lose.
    stand.redis.stop();
    stand.redis.start_again().unwrap();
    stand.send(5..10).await;
    stand.has(5..10).await;
}
