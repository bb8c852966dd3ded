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

/// Looks up a key that exists.
fn hit(client: &mut Connection, times: usize) {
    for _ in 0..times {
        let _: String = client.get("here").unwrap();
    }
}

#[test]
fn statistics_that_are_reset_are_a_gap_and_no_wrong_rate() {
    let server = Redis::start(&[]).unwrap();
    let mut client = connect(&server);
    let () = client.set("here", "x").unwrap();
    let mut looking = watch(&url(&server));
    hit(&mut client, 3);
    looking.look();
    hit(&mut client, 3);
    assert_eq!(looking.look().value("redis_hit_ratio", ""), Some(1.0));
    for reset in 1..3 {
        let () = cmd("CONFIG").arg("RESETSTAT").query(&mut client).unwrap();
        // More happens than ever before: all counters are beyond what they were.
        let _clients: Vec<Connection> = (0..20).map(|_| connect(&server)).collect();
        hit(&mut client, 500);
        let seen = looking.look();
        let rates = ["redis_commands", "redis_hits", "redis_misses", "redis_evicted", "redis_hit_ratio"];
        assert_eq!(rates.map(|name| seen.value(name, "")), [None; 5]);
        let text = format!("reset {reset}: its counters began anew; their rates have a gap");
        assert_eq!((seen.kinds(), seen.texts()), (vec![NoticeKind::Restarted], vec![text.as_str()]));
        assert!(seen.value("redis_memory", "").is_some());
        hit(&mut client, 3);
        let _: Option<String> = client.get("not here").unwrap();
        let next = looking.look();
        assert_eq!((next.value("redis_hit_ratio", ""), next.texts()), (Some(0.75), vec![]));
    }
}

#[test]
fn a_slow_log_that_is_emptied_is_a_gap_and_neither_a_zero_nor_a_spike() {
    let server = Redis::start(&[("slowlog-log-slower-than", "-1")]).unwrap();
    let mut client = connect(&server);
    let () = client.set("here", "x").unwrap();
    let threshold = |client: &mut Connection, micros: i32| {
        let () = cmd("CONFIG").arg("SET").arg("slowlog-log-slower-than").arg(micros).query(client).unwrap();
    };
    // Each of them, and the command by which they are, is an entry.
    let slow = |client: &mut Connection, times: usize| {
        threshold(client, 0);
        hit(client, times);
        threshold(client, -1);
    };
    // Entries, of a look before which there were so many hits.
    let entries = |seen: &crate::looking::Seen, hits: f64| {
        let entries = seen.value("redis_slow", "")? / seen.value("redis_hits", "")? * hits;
        Some(entries.round())
    };
    let mut looking = watch(&url(&server));
    looking.look();
    slow(&mut client, 3);
    assert_eq!(entries(&looking.look(), 3.0), Some(4.0));
    slow(&mut client, 2);
    assert_eq!(entries(&looking.look(), 2.0), Some(3.0));
    let empty = |client: &mut Connection| {
        let () = cmd("SLOWLOG").arg("RESET").query(client).unwrap();
    };
    slow(&mut client, 2);
    empty(&mut client);
    assert_eq!(looking.look().value("redis_slow", ""), None, "what there was is not known");
    hit(&mut client, 4);
    assert_eq!(entries(&looking.look(), 4.0), Some(0.0));
    // The numbers of its entries go on.
    slow(&mut client, 5);
    assert_eq!(entries(&looking.look(), 5.0), Some(6.0));
    empty(&mut client);
    looking.look();
    slow(&mut client, 1);
    empty(&mut client);
    assert_eq!(looking.look().value("redis_slow", ""), None, "it was empty, and is empty again");
    empty(&mut client);
    slow(&mut client, 200);
    assert_eq!(
        looking.look().value("redis_slow", ""),
        None,
        "it holds 128 entries, and the others are not known"
    );
    slow(&mut client, 1);
    assert_eq!(entries(&looking.look(), 1.0), Some(2.0));
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
