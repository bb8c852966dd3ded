//! The real binary is killed under load around the end of a period: what was granted is granted once in each period.
//!
//! `CHALLENGE_KILL_ROUNDS` sets how many rounds are run (3 when unset).

use std::net::SocketAddr;
use std::sync::Arc;

use challenge::catalog::Schedule;
use hyper::StatusCode;
use kit::clock::UtcMs;
use peers::faketime::Clock;
use testkit::data::TestDatabase;
use testkit::killed::{Load, rounds};
use testkit::process::Process;
use testkit::until;
use tokio::task::JoinSet;

use crate::process::serving;
use crate::rotation::challenge_file;
use crate::support::{Player, Publisher, statistic};

const DAILY: &str = "goal-001-01";
const USERS: usize = 8;
const DAY_MS: i64 = 86_400_000;
/// Of the clock, from the end of a period.
const A_SECOND_MS: i64 = 1_000;

/// What one user was answered.
#[derive(Debug)]
struct Record {
    user: String,
    kills: f64,
    claimed: i64,
    unanswered: i64,
}

fn start(database: &TestDatabase, clock: &Clock) -> Process {
    let mut command = serving(database);
    command
        .env("CHALLENGE_CONFIG_PATH", challenge_file(database))
        .env("CLAIM_RESUME_S", "1")
        .envs(clock.env());
    Process::start(&mut command)
}

/// The library leaves two files of a process that is killed.
fn kill(process: Process) {
    let id = process.id();
    process.kill();
    for name in [format!("faketime_shm_{id}"), format!("sem.faketime_sem_{id}")] {
        let _is_there = std::fs::remove_file(std::path::Path::new("/dev/shm").join(name));
    }
}

async fn complete(publisher: &mut Publisher, record: &mut Record) -> Result<(), tonic::Status> {
    record.kills += 10.0;
    let mut event = statistic(&record.user, "kills", record.kills);
    event.payload.as_mut().unwrap().inc = 10.0;
    publisher.statistic.on_message(event).await.map(drop)
}

/// Completes the goal and claims it, again and again, until the service is killed.
async fn play(http: SocketAddr, mut publisher: Publisher, user: String, load: Arc<Load>) -> Record {
    let player = Player::new(http, &user);
    let mut record = Record { user, kills: 0.0, claimed: 0, unanswered: 0 };
    while !load.is_over() && complete(&mut publisher, &mut record).await.is_ok() {
        match player.try_claim(DAILY).await {
            Ok((StatusCode::OK, _)) => record.claimed += 1,
            Ok((StatusCode::CONFLICT | StatusCode::BAD_REQUEST, _)) => {}
            Ok((status, answer)) => panic!("{status} {answer}"),
            Err(_cut) => {
                record.unanswered += 1;
                break;
            }
        }
        load.acknowledge();
    }
    record
}

/// After the restart each user claims in the new period; then there is one grant for each period that was claimed.
async fn check(process: &Process, records: &mut [Record], database: &TestDatabase) {
    let mut publisher = Publisher::connect(process.address("events")).await;
    for record in records.iter_mut() {
        complete(&mut publisher, record).await.unwrap();
        let (status, answer) = Player::new(process.address("http"), &record.user).claim(DAILY).await;
        assert!([StatusCode::OK, StatusCode::CONFLICT].contains(&status), "{record:?}: {status} {answer}");
        record.claimed += i64::from(status == StatusCode::OK);
    }
    let open = "SELECT count(*) FROM claims WHERE granted_at IS NULL";
    until("open claims are resumed", async || database.count(open) == 0).await;
    for record in records.iter() {
        let of_user = |table: &str| {
            database.count(&format!("SELECT count(*) FROM {table} WHERE user_id = '{}'", record.user))
        };
        let (claims, grants) = (of_user("claims"), of_user("reward_ledger"));
        assert_eq!(claims, grants, "{record:?}");
        assert!((1..=2).contains(&claims), "one in each of two periods: {record:?}");
        assert!(
            (record.claimed..=record.claimed + record.unanswered).contains(&claims),
            "{record:?}: {claims}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_while_periods_end_grants_once_in_each_period() {
    let (database, clock) = (TestDatabase::new(), Clock::start().unwrap());
    let first_end = Schedule::Daily.period(UtcMs::now()).end;
    let set = |time: i64| clock.set((time - UtcMs::now().0).div_euclid(1_000)).unwrap();
    for round in 0..rounds("CHALLENGE_KILL_ROUNDS") {
        let end = first_end.0 + DAY_MS * i64::try_from(round).unwrap();
        set(end - 60 * A_SECOND_MS);
        let process = start(&database, &clock);
        let publisher = Publisher::connect(process.address("events")).await;
        let load = Arc::new(Load::default());
        let mut users = JoinSet::new();
        for user in 0..USERS {
            let user = format!("user-{round}-{user}");
            users.spawn(play(process.address("http"), publisher.clone(), user, Arc::clone(&load)));
        }
        let before = 1 + (round * 7919) % 40;
        load.reach(before).await;
        set(end + A_SECOND_MS);
        // In every third round no request is answered between the end of the period and the kill.
        if round % 3 != 2 {
            load.reach(before + 1 + (round * 31) % 30).await;
        }
        kill(process);
        load.end();
        let mut records = users.join_all().await;
        let process = start(&database, &clock);
        check(&process, &mut records, &database).await;
        drop(publisher);
        assert!(process.terminate().success());
    }
    let in_two_periods =
        "SELECT count(*) FROM (SELECT user_id FROM claims GROUP BY user_id HAVING count(*) = 2) AS twice";
    assert!(database.count(in_two_periods) > 0, "some users claimed before and after the end of the period");
}
