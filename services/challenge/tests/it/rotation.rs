//! Goals that begin again every day, week or month: the clock is set from one period to the next while the service runs.

use challenge::catalog::Schedule;
use challenge::proto::service as proto;
use hyper::StatusCode;
use kit::clock::UtcMs;
use peers::faketime::Clock;
use serde_json::{Value, json};
use testkit::data::TestDatabase;
use testkit::process::Process;
use testkit::until;

use crate::process::serving;
use crate::reward_server::{RewardReaction, RewardServer};
use crate::support::{Player, Publisher, Server, statistic};

const ROTATING: &str = include_str!("../../../../examples/challenge-rotating.json");
const DAILY: &str = "goal-001-01";
const WEEKLY: &str = "goal-001-02";
const MONTHLY: &str = "goal-001-03";
const ONCE: &str = "goal-001-04";
const KEPT: &str = "goal-001-05";
const THREE_DAYS: &str = "goal-002-01";
const HOUR_MS: i64 = 3_600_000;
const GRANTS: &str = "SELECT count(*) FROM reward_ledger";

/// The challenge file of these tests, in the folder of a test.
pub(crate) fn challenge_file(database: &TestDatabase) -> String {
    let path = database.path().join("rotating.json");
    std::fs::write(&path, ROTATING).unwrap();
    path.display().to_string()
}

/// A server with goals that begin again, and some to select.
pub(crate) async fn rotating(settings: &[(&str, &str)]) -> Server {
    let database = TestDatabase::new();
    let file = challenge_file(&database);
    let settings: Vec<_> =
        settings.iter().copied().chain([("CHALLENGE_CONFIG_PATH", file.as_str())]).collect();
    Server::start_in(database, &settings).await
}

/// The binary with a clock that can be set.
struct Rotating {
    clock: Clock,
    process: Process,
    kills: f64,
}

impl Rotating {
    fn start(database: &TestDatabase, clock: Clock, settings: &[(&str, &str)]) -> Self {
        let mut command = serving(database);
        command.env("CHALLENGE_CONFIG_PATH", challenge_file(database));
        command.envs(clock.env()).envs(settings.iter().copied());
        Self { process: Process::start(&mut command), clock, kills: 0.0 }
    }

    fn set(&self, time: UtcMs) {
        self.clock.set((time.0 - UtcMs::now().0) / 1000).unwrap();
    }

    fn ann(&self) -> Player {
        Player::new(self.process.address("http"), "ann")
    }

    /// Ann defeats some enemies.
    async fn kill(&mut self, added: f64) {
        self.kills += added;
        let mut event = statistic("ann", "kills", self.kills);
        event.payload.as_mut().unwrap().inc = added;
        let mut publisher = Publisher::connect(self.process.address("events")).await;
        publisher.statistic.on_message(event).await.unwrap();
    }

    async fn claim(&self, goal: &str) -> u16 {
        self.ann().claim(goal).await.0.as_u16()
    }

    async fn progress(&self, goal: &str) -> i64 {
        self.ann().goal(goal).await["progress"].as_i64().unwrap()
    }
}

/// An hour before and an hour after the end of the current period.
fn around_the_end_of(schedule: Schedule, now: UtcMs) -> [UtcMs; 2] {
    let end = schedule.period(now).end;
    [UtcMs(end.0 - HOUR_MS), UtcMs(end.0 + HOUR_MS)]
}

#[tokio::test]
async fn each_period_has_its_own_progress_and_its_own_reward() {
    let database = TestDatabase::new();
    let mut service = Rotating::start(&database, Clock::start().unwrap(), &[]);
    let mut now = UtcMs::now();
    let mut grants = 0;
    for (schedule, goal) in
        [(Schedule::Daily, DAILY), (Schedule::Weekly, WEEKLY), (Schedule::Monthly, MONTHLY)]
    {
        let [before, after] = around_the_end_of(schedule, now);
        service.set(before);
        service.kill(10.0).await;
        assert_eq!((service.claim(goal).await, service.claim(goal).await), (200, 409), "{goal}");
        let shown = service.ann().goal(goal).await;
        assert_eq!(shown["expiresAt"], schedule.period(before).end.to_string());
        let left_s = shown["expiresInSeconds"].as_i64().unwrap();
        assert!((1..=3600).contains(&left_s), "{left_s}");
        service.set(after);
        let shown = service.ann().goal(goal).await;
        assert_eq!((&shown["status"], &shown["progress"]), (&json!("not_started"), &json!(0)), "{goal}");
        assert_eq!((&shown["claimedAt"], &shown["completedAt"]), (&json!(""), &json!("")));
        assert_eq!(shown["expiresAt"], schedule.period(after).end.to_string());
        assert_eq!(service.claim(goal).await, 400, "not completed in this period");
        service.kill(10.0).await;
        assert_eq!((service.claim(goal).await, service.claim(goal).await), (200, 409), "{goal}");
        grants += 2;
        assert_eq!(database.count(GRANTS), grants);
        service.set(before);
        assert_eq!(service.claim(goal).await, 409, "the clock was set back");
        service.set(after);
        now = after;
    }
    assert!(service.process.terminate().success());
    assert_eq!(database.count("SELECT count(*) FROM claims WHERE granted_at IS NOT NULL AND period > 0"), 6);
}

#[tokio::test]
async fn what_a_boundary_does_not_reset_stays_and_is_granted_once() {
    let database = TestDatabase::new();
    let mut service = Rotating::start(&database, Clock::start().unwrap(), &[]);
    let [before, after] = around_the_end_of(Schedule::Weekly, UtcMs::now());
    service.set(before);
    service.kill(4.0).await;
    service.set(after);
    assert_eq!((service.progress(ONCE).await, service.progress(KEPT).await), (0, 4));
    service.kill(6.0).await;
    assert_eq!((service.progress(ONCE).await, service.progress(KEPT).await), (6, 10));
    service.kill(4.0).await;
    for goal in [ONCE, KEPT] {
        assert_eq!(service.claim(goal).await, 200, "{goal}");
    }
    let [_, a_week_later] = around_the_end_of(Schedule::Weekly, after);
    service.set(a_week_later);
    service.kill(20.0).await;
    for goal in [ONCE, KEPT] {
        assert_eq!(
            (service.ann().goal(goal).await["status"].clone(), service.claim(goal).await),
            (json!("claimed"), 409)
        );
    }
    assert_eq!(database.count(GRANTS), 2);
    assert!(service.process.terminate().success());
}

#[tokio::test]
async fn a_daily_goal_counts_one_login_a_day() {
    let database = TestDatabase::new();
    let service = Rotating::start(&database, Clock::start().unwrap(), &[]);
    let mut now = UtcMs::now();
    let mut publisher = Publisher::connect(service.process.address("events")).await;
    for day in 1..=3 {
        let [before, after] = around_the_end_of(Schedule::Daily, now);
        service.set(before);
        for login in ["first", "second"] {
            publisher.log_in("ann", &format!("{day} {login}")).await.unwrap();
        }
        assert_eq!(service.progress(THREE_DAYS).await, day);
        now = after;
    }
    assert_eq!(service.claim(THREE_DAYS).await, 200);
    drop(publisher);
    assert!(service.process.terminate().success());
}

/// Both transports, every operation that shows goals.
#[tokio::test]
async fn every_response_shows_the_end_of_the_period() {
    let server = rotating(&[]).await;
    let ann = server.player("ann");
    let grpc = server.caller("ann").await;
    let is_end = |text: &Value, schedule: Schedule| {
        let end = UtcMs::parse(text.as_str().unwrap()).unwrap();
        assert_eq!(schedule.period(UtcMs(end.0 - 1)).end, end, "{text}");
        assert!(end > UtcMs::now(), "{text}");
    };
    for (goal, schedule) in
        [(DAILY, Schedule::Daily), (WEEKLY, Schedule::Weekly), (MONTHLY, Schedule::Monthly)]
    {
        is_end(&ann.goal(goal).await["expiresAt"], schedule);
    }
    is_end(&ann.initialize().await["assignedGoals"][0]["expiresAt"], Schedule::Daily);
    is_end(&ann.initialize().await["assignedGoals"][2]["expiresAt"], Schedule::Monthly);
    let selected = proto::BatchSelectRequest {
        challenge_id: "challenge-001".to_owned(),
        goal_ids: vec![WEEKLY.to_owned()],
        replace_existing: false,
    };
    let selected = grpc.client.clone().batch_select_goals(grpc.call(selected)).await.unwrap().into_inner();
    is_end(&json!(selected.selected_goals[0].expires_at), Schedule::Weekly);
    for (challenge, schedule) in [("challenge-001", Some(Schedule::Daily)), ("challenge-002", None)] {
        let (status, http) = ann.get(&format!("/challenge/v1/challenges/{challenge}/rotation")).await;
        assert_eq!((status, &http["challengeId"]), (StatusCode::OK, &json!(challenge)));
        let request = proto::GetRotationStatusRequest { challenge_id: challenge.to_owned() };
        let status = grpc.client.clone().get_rotation_status(grpc.call(request)).await.unwrap().into_inner();
        let rotation = status.rotation.unwrap();
        assert_eq!(rotation.enabled, schedule.is_some());
        assert_eq!(rotation.schedule, schedule.map_or("", Schedule::name));
        assert_eq!(
            (&http["rotation"]["type"], &http["rotation"]["enabled"]),
            (&json!(rotation.r#type), &json!(rotation.enabled))
        );
        let (current, next) = (rotation.current_period.unwrap(), rotation.next_period.unwrap());
        assert_eq!(current.end_time, next.start_time);
        for (period, of_http) in [(&current, "currentPeriod"), (&next, "nextPeriod")] {
            assert_eq!(http["rotation"][of_http]["endTime"], period.end_time);
            if let Some(schedule) = schedule {
                is_end(&json!(period.end_time), schedule);
                assert!(period.expires_in_seconds > 0);
            }
        }
    }
    let (status, refused) = ann.get("/challenge/v1/challenges/nowhere/rotation").await;
    assert_eq!((status, &refused["errorCode"]), (StatusCode::NOT_FOUND, &json!("CHALLENGE_NOT_FOUND")));
}

/// The reward service answers after the boundary: the reward is that of the period before, and the new one has its own.
#[tokio::test]
async fn a_claim_that_is_left_open_over_a_boundary_is_granted_for_its_own_period() {
    let rewards = RewardServer::start(&[RewardReaction::HoldUngranted]).await;
    let url = rewards.settings().remove(0).1;
    let settings = [
        ("REWARD_URL", url.as_str()),
        ("REWARD_TOKEN", "t"),
        ("REWARD_TIMEOUT_MS", "2000"),
        ("REWARD_ATTEMPTS", "1"),
        ("CLAIM_RESUME_S", "1"),
    ];
    let database = TestDatabase::new();
    let mut service = Rotating::start(&database, Clock::start().unwrap(), &settings);
    let [before, after] = around_the_end_of(Schedule::Daily, UtcMs::now());
    service.set(before);
    service.kill(10.0).await;
    assert_eq!(service.claim(DAILY).await, 502);
    service.set(after);
    // Only the reward service is asked: a query would hold up this thread, on which it answers.
    until("the open claim is resumed", async || rewards.granted().len() == 1).await;
    assert_eq!(service.ann().goal(DAILY).await["status"], "not_started", "the new period is not claimed");
    service.kill(10.0).await;
    assert_eq!((service.claim(DAILY).await, service.claim(DAILY).await), (200, 409));
    assert_eq!(rewards.granted().len(), 2);
    let ended = "SELECT count(*) FROM claims WHERE granted_at IS NOT NULL";
    until("both claims end", async || database.count(ended) == 2).await;
    assert!(service.process.terminate().success());
}

/// Support removes a player's progress with SQL: the player starts again, and can claim again.
#[tokio::test]
async fn a_player_whose_progress_was_removed_can_claim_again() {
    let server = Server::start().await;
    let (ann, mut publisher) = (server.player("ann"), server.publisher().await);
    for round in 1..=3 {
        publisher.log_in("ann", &format!("{round}")).await.unwrap();
        assert_eq!(ann.claim("goal-010-01").await.0, StatusCode::OK, "{round}");
        assert_eq!(ann.claim("goal-010-01").await.0, StatusCode::CONFLICT, "{round}");
        assert_eq!(server.count(GRANTS), round);
        assert_eq!(server.count("SELECT count(DISTINCT idempotency_key) FROM reward_ledger"), round);
        server.database.run("DELETE FROM user_goal_progress WHERE user_id = 'ann'");
        assert_eq!(ann.goal("goal-010-01").await["status"], "not_started");
    }
}
