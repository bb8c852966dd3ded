//! A Redis server: at work, restarted, gone, and behind a password.

use std::time::Duration;

use ::redis::{Client, Commands as _, Connection, cmd};
use evidence::NoticeKind;
use peers::redis::Redis;

use crate::looking::Looking;

fn watch(url: &str) -> Looking {
    Looking::new(observe::redis("shop", url, Duration::from_secs(1)).unwrap())
}

fn url(server: &Redis) -> String {
    format!("redis://{}", server.address())
}

fn connect(server: &Redis) -> Connection {
    Client::open(url(server)).unwrap().get_connection().unwrap()
}

#[test]
fn hits_clients_memory_and_slow_commands_are_seen() {
    let server =
        Redis::start(&[("slowlog-log-slower-than", "0"), ("maxmemory", "64mb"), ("maxclients", "500")])
            .unwrap();
    let mut looking = watch(&url(&server));
    let before = looking.look();
    assert_eq!(
        (before.value("redis_clients", ""), before.value("redis_clients_limit", "")),
        (Some(1.0), Some(500.0))
    );
    assert_eq!(before.value("redis_memory_limit", ""), Some(64.0 * 1024.0 * 1024.0));
    assert_eq!(before.value("redis_hit_ratio", ""), None, "the first look has no rates");
    let mut client = connect(&server);
    let () = client.set("here", "x".repeat(1 << 20)).unwrap();
    for _ in 0..3 {
        let _: String = client.get("here").unwrap();
    }
    let _: Option<String> = client.get("not here").unwrap();
    let seen = looking.look();
    assert_eq!((seen.value("redis_hit_ratio", ""), seen.value("redis_clients", "")), (Some(0.75), Some(2.0)));
    let memory = |seen: &crate::looking::Seen| seen.value("redis_memory", "").unwrap();
    assert!(memory(&seen) - memory(&before) >= f64::from(1 << 20));
    assert!(seen.value("redis_slow", "").unwrap() > 0.0 && seen.value("redis_commands", "").unwrap() > 0.0);
    assert_eq!(looking.look().value("redis_hit_ratio", ""), None, "there were no lookups");
    assert_eq!(seen.texts(), Vec::<&str>::new());
}

#[test]
fn a_restart_is_a_gap_and_no_rate() {
    let mut server = Redis::start(&[]).unwrap();
    let mut looking = watch(&url(&server));
    looking.look();
    assert!(looking.look().value("redis_commands", "").is_some());
    server.stop();
    let gone = looking.look();
    assert_eq!((gone.kinds(), gone.names()), (vec![NoticeKind::Gone], vec![]));
    server.start_again().unwrap();
    let back = looking.look();
    assert_eq!(back.kinds(), [NoticeKind::Appeared, NoticeKind::Restarted], "{:?}", back.texts());
    assert!(back.value("redis_memory", "").is_some() && back.value("redis_commands", "").is_none());
    assert!(looking.look().value("redis_commands", "").is_some());
}

#[test]
fn a_server_that_does_not_answer_is_reported() {
    let server = Redis::start(&[]).unwrap();
    let mut looking = watch(&url(&server));
    looking.look();
    server.pause();
    let seen = looking.look();
    assert_eq!(seen.texts(), ["Redis did not answer within 2 s"]);
    server.resume();
    assert!(looking.look().value("redis_memory", "").is_some());
}

#[test]
fn a_wrong_password_is_reported_and_not_shown() {
    let server = Redis::start(&[("requirepass", "r1ght")]).unwrap();
    let seen = watch(&format!("redis://:wr0ng@{}", server.address())).look();
    assert_eq!((seen.kinds(), seen.names()), (vec![NoticeKind::Gone], vec![]));
    assert!(!seen.texts()[0].contains("wr0ng"), "{:?}", seen.texts());
    let seen = watch(&format!("redis://:r1ght@{}", server.address())).look();
    assert!(seen.value("redis_memory", "").is_some());
}

#[test]
fn it_is_asked_no_more_often_than_the_plan_says() {
    let server = Redis::start(&[]).unwrap();
    let observer = observe::redis("shop", &url(&server), Duration::from_secs(5)).unwrap();
    let mut looking = Looking::new(observer);
    looking.look();
    let mut client = connect(&server);
    let asked = |client: &mut Connection| {
        let text: String = cmd("INFO").arg("commandstats").query(client).unwrap();
        let line = text.lines().find(|line| line.starts_with("cmdstat_slowlog")).unwrap().to_owned();
        line.split(['=', ',']).nth(1).unwrap().parse::<u32>().unwrap()
    };
    let before = asked(&mut client);
    looking.pass(4);
    assert_eq!(asked(&mut client), before, "seconds 2 to 5 are passed over");
    looking.look();
    assert_eq!(asked(&mut client), before + 1);
}
