//! The plans of PostgreSQL for each statement on tables of some size: every statement finds its rows by an index, and
//! every index serves a statement.

use std::collections::BTreeSet;

use kit::env::Env;
use kit::postgres::{Connector, ServerOptions, connect_with_retry, migrate};
use peers::postgres::{Cluster, Options};

use super::{schema, statements};

/// Enough users that a sequential scan is never the cheaper plan.
const FILL: &str = "
    INSERT INTO players SELECT 'user-' || n FROM generate_series(1, 20000) n;
    INSERT INTO user_goal_progress (user_id, goal_id, value, is_active, completed_at)
        SELECT 'user-' || n, 'goal-' || g, 0, true, now() FROM generate_series(1, 20000) n, generate_series(1, 5) g;
    INSERT INTO event_ids SELECT 'user-' || n, gen_random_uuid(), now() - interval '1 minute' * (60000 - n) / 100
        FROM generate_series(1, 60000) n;
    INSERT INTO claims SELECT 'user-' || n, 'goal-1', 0, 'key-' || n, 'ITEM', 'x', 1, now(),
        CASE WHEN n % 1000 > 0 THEN now() END, now() FROM generate_series(1, 20000) n;
    INSERT INTO reward_ledger SELECT 'user-' || n, 'key-' || n, 'ITEM', 'x', 1, now() FROM generate_series(1, 20000) n;
    ANALYZE";

/// Name, statement and parameters, for a group of two users: a server plans it with known parameters.
const STATEMENTS: [(&str, &str, &str); 10] = [
    ("lock players", statements::LOCK_PLAYERS, "'{user-1,user-2}'"),
    ("take ids", statements::TAKE_IDS, "'{user-1}', '{00000000-0000-0000-0000-000000000001}'"),
    ("users", statements::USERS, "'{user-1,user-2}'"),
    ("goals", statements::GOALS, "'{user-1,user-1,user-2}', '{goal-1,goal-2,goal-1}'"),
    ("claims", statements::CLAIMS, "'{user-1,user-2}', '{goal-1,goal-1}'"),
    (
        "save rows",
        statements::SAVE_ROWS,
        "'{user-1}', '{goal-1}', '{1}', '{1}', '{t}', '{now}', '{now}', '{now}', '{0}', '{now}', '{1}', '{now}'",
    ),
    (
        "save claims",
        statements::SAVE_CLAIMS,
        "'{user-1}', '{goal-1}', '{0}', '{k}', '{ITEM}', '{x}', '{1}', '{now}', '{now}', '{now}', '{0}', '{now}'",
    ),
    ("mark claimed", statements::MARK_CLAIMED, "'{user-1}', '{goal-1}', '{0}', 'now'"),
    ("enter grants", statements::ENTER_GRANTS, "'{user-1}', '{k}', '{ITEM}', '{x}', '{1}', 'now'"),
    ("open claims", statements::OPEN_CLAIMS, "'now', 'now'"),
];

#[tokio::test]
async fn every_statement_uses_an_index_and_every_index_has_its_statement() {
    let cluster = Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap();
    let options = options(&cluster);
    let connected = connect_with_retry(&Connector::new(&options).unwrap()).await.unwrap();
    migrate(&connected, &options, &schema::MIGRATIONS).await.unwrap();
    connected.client.batch_execute("SET statement_timeout = 0").await.unwrap();
    connected.client.batch_execute(FILL).await.unwrap();
    let mut all = String::new();
    for (name, statement, parameters) in STATEMENTS {
        let plan = explain(&connected.client, statement, parameters).await;
        assert!(!plan.contains("Seq Scan on"), "{name}:\n{plan}");
        all += &format!("{name}\n{plan}\n");
    }
    // By the whole key: by the user alone, a few goals would cost as much as all of them.
    assert!(all.contains("Index Cond: ((user_id = unnest.unnest) AND (goal_id = unnest.unnest_1))"), "{all}");
    // Expired ids are found by their index; the plan by which they are then deleted depends on their number.
    let all_but_the_last_590_minutes = "35400";
    let plan = explain(&connected.client, statements::EXPIRED_IDS, all_but_the_last_590_minutes).await;
    assert!(plan.contains("Bitmap Index Scan on event_ids_seen_at"), "{plan}");
    all += &plan;
    let indexes = connected.client.query("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'", &[]);
    let indexes: BTreeSet<String> = indexes.await.unwrap().iter().map(|row| row.get(0)).collect();
    let unused: Vec<_> = indexes.iter().filter(|name| !all.contains(name.as_str())).collect();
    // The table of schema versions has a few rows, read only at a start.
    assert_eq!(unused, ["schema_steps_pkey"], "{all}");
}

async fn explain(client: &tokio_postgres::Client, statement: &str, parameters: &str) -> String {
    let prepared = format!("DEALLOCATE ALL; PREPARE explained AS {statement}");
    client.batch_execute(&prepared).await.unwrap();
    let query = format!("EXPLAIN (COSTS OFF) EXECUTE explained({parameters})");
    let lines = client.simple_query(&query).await.unwrap();
    let line = |message: &tokio_postgres::SimpleQueryMessage| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => {
            Some(format!("  {}\n", row.get(0).unwrap_or_default()))
        }
        _ => None,
    };
    lines.iter().filter_map(line).collect()
}

fn options(cluster: &Cluster) -> ServerOptions {
    let pairs = cluster.env();
    let env = Env::from_pairs(pairs.iter().map(|(name, value)| (*name, value.as_str())));
    ServerOptions::read(&env, "challenge").unwrap().unwrap()
}
