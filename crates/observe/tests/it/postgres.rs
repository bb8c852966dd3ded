//! A PostgreSQL server under the observer's eyes: at work, locked, restarted, and with secrets of its own.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use evidence::NoticeKind;
use peers::poll;
use peers::postgres::{ADMIN, Cluster, DATABASE, Options, USER};

use crate::looking::{Looking, Seen};

fn url(cluster: &Cluster, user: &str, database: &str) -> String {
    format!("postgresql://{user}@{}/{database}", cluster.address())
}

fn watch(url: &str, tables: &[&str]) -> Looking {
    let tables: Vec<String> = tables.iter().map(|name| (*name).to_owned()).collect();
    Looking::new(observe::postgres("shop", url, &tables, Duration::from_secs(1)).unwrap())
}

/// Looks until `is_so`: PostgreSQL shows what sessions did a moment after they did it.
fn look_until(looking: &mut Looking, is_so: impl Fn(&Seen) -> bool) -> Seen {
    poll::find(Duration::from_secs(30), || Some(looking.look()).filter(|seen| is_so(seen)))
        .expect("it is seen in time")
}

/// A session that runs given statements and then waits; ended when dropped.
struct WaitingSession {
    psql: Child,
    orders: ChildStdin,
}

impl WaitingSession {
    fn new(cluster: &Cluster, sql: &str) -> WaitingSession {
        let mut psql = Command::new("psql")
            .args([
                "-XAtq",
                "-U",
                ADMIN,
                "-d",
                DATABASE,
                "-h",
                &cluster.host(),
                "-p",
                &cluster.port().to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut orders = psql.stdin.take().unwrap();
        writeln!(orders, "{sql}").unwrap();
        WaitingSession { psql, orders }
    }
}

impl Drop for WaitingSession {
    fn drop(&mut self) {
        let _ = self.orders.flush();
        let _ = self.psql.kill();
        let _ = self.psql.wait();
    }
}

#[test]
fn work_tables_and_statements_are_seen() {
    let cluster = Cluster::start().unwrap();
    cluster
        .sql(DATABASE, "CREATE EXTENSION pg_stat_statements; CREATE TABLE orders (id int, note text)")
        .unwrap();
    let mut looking = watch(&url(&cluster, ADMIN, DATABASE), &["orders", "no_such_table"]);
    let first = looking.look();
    assert_eq!(first.value("pg_connections_limit", ""), Some(100.0));
    assert_eq!(first.texts(), ["no table is named no_such_table"]);
    assert!(first.value("pg_commits", "").is_none(), "the first look has no rates");
    let insert = "INSERT INTO orders SELECT n, 'x' FROM generate_series(1, 500) n;";
    cluster.sql(DATABASE, &format!("{insert} {insert} DELETE FROM orders WHERE id <= 100;")).unwrap();
    cluster.sql(DATABASE, "CREATE ROLE other PASSWORD 'not for others'").unwrap();
    let rows = |seen: &Seen| seen.value("pg_table_rows", "orders");
    let dead = |seen: &Seen| seen.value("pg_table_dead_rows", "orders");
    let mut statements = BTreeMap::new();
    look_until(&mut looking, |seen| rows(seen) == Some(800.0) && dead(seen) == Some(200.0));
    let seen = look_until(&mut looking, |seen| !seen.parts("pg_statement_calls").is_empty());
    statements.extend(seen.parts("pg_statement_calls"));
    assert!(seen.value("pg_table_size", "orders").unwrap() > 8_000.0);
    let texts = statements.keys().copied().collect::<Vec<_>>().join("\n");
    assert!(texts.contains("INSERT INTO orders SELECT n, $1 FROM generate_series($2, $3) n"), "{texts}");
    assert!(!texts.contains("plimsoll") && !texts.contains("not for others"), "{texts}");
}

#[test]
fn waiting_for_a_lock_is_seen() {
    let cluster = Cluster::start().unwrap();
    cluster.sql(DATABASE, "CREATE TABLE orders (id int)").unwrap();
    let mut looking = watch(&url(&cluster, ADMIN, DATABASE), &[]);
    let quiet = looking.look();
    assert_eq!(
        (quiet.value("pg_locks_waiting", ""), quiet.value("pg_waits", "Lock")),
        (Some(0.0), Some(0.0))
    );
    assert_eq!(quiet.value("pg_connections", "active"), Some(0.0), "the observer's own session is left out");
    let holder = WaitingSession::new(&cluster, "BEGIN; LOCK TABLE orders;");
    look_until(&mut looking, |seen| seen.value("pg_connections", "idle in transaction") == Some(1.0));
    let _waiter = WaitingSession::new(&cluster, "LOCK TABLE orders;\n");
    let waiter = WaitingSession::new(&cluster, "SELECT * FROM orders;");
    let seen = look_until(&mut looking, |seen| seen.value("pg_locks_waiting", "") == Some(1.0));
    assert_eq!(
        (seen.value("pg_waits", "Lock"), seen.value("pg_connections", "active")),
        (Some(1.0), Some(1.0))
    );
    let is_blocked = |seen: &Seen, by: f64| {
        let blockers = seen.parts("pg_blockers");
        blockers
            .iter()
            .any(|(session, waiting)| session.starts_with("idle in transaction: LOCK") && *waiting == by)
    };
    let seen = look_until(&mut looking, |seen| is_blocked(seen, 1.0));
    assert!(!format!("{:?}", seen.parts("pg_blockers")).contains("orders"), "the first word alone");
    drop((holder, waiter));
    look_until(&mut looking, |seen| seen.value("pg_locks_waiting", "") == Some(0.0) && is_blocked(seen, 0.0));
}

#[test]
fn a_role_without_rights_sees_what_it_may_and_says_what_not() {
    let cluster = Cluster::start().unwrap();
    let mut looking = watch(&url(&cluster, USER, DATABASE), &[]);
    let _other = WaitingSession::new(&cluster, "SELECT 1;");
    let seen = look_until(&mut looking, |seen| seen.value("pg_connections", "unknown") == Some(1.0));
    assert!(seen.value("pg_locks_waiting", "").is_some());
    let mut texts = seen.texts();
    if texts.is_empty() {
        texts = vec!["reported before"];
    }
    assert!(
        texts.iter().all(|text| text.contains("hidden")
            || *text == "reported before"
            || text.contains("pg_stat_statements")),
        "{texts:?}"
    );
    let mut looking = watch(&url(&cluster, USER, DATABASE), &[]);
    let first = looking.look();
    assert!(
        first
            .texts()
            .contains(&"pg_stat_statements is not installed in this database: no statements are observed"),
        "{:?}",
        first.texts()
    );
    assert!(first.kinds().iter().all(|kind| *kind == NoticeKind::Unreadable));
}

#[test]
fn a_refused_query_is_reported_once_and_the_others_continue() {
    let cluster = Cluster::start().unwrap();
    cluster.sql(DATABASE, "CREATE EXTENSION pg_stat_statements SCHEMA pg_catalog").err();
    cluster.sql(DATABASE, "REVOKE ALL ON FUNCTION pg_database_size(oid) FROM public; CREATE SCHEMA hidden; CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA hidden").unwrap();
    let mut looking = watch(&url(&cluster, USER, DATABASE), &[]);
    let (seen, again) = (looking.look(), looking.look());
    assert!(seen.value("pg_connections_limit", "").is_some());
    let reported = [seen.texts(), again.texts()].concat();
    let refused = ["statements cannot be observed: permission denied for schema hidden"];
    // The session that made the schema may still be ending, and is reported once, too.
    let others = reported.iter().filter(|text| text.starts_with("sessions of other roles"));
    assert!(
        seen.texts().starts_with(&refused) && reported.len() == 1 + others.count().min(1),
        "{reported:?}"
    );
    assert!(again.value("pg_connections_limit", "").is_some());
}

#[test]
fn a_restart_is_a_gap_and_no_rate() {
    let mut cluster = Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap();
    let mut looking = watch(&url(&cluster, ADMIN, ADMIN), &[]);
    looking.look();
    assert!(looking.look().value("pg_commits", "").is_some());
    cluster.stop().unwrap();
    let gone = looking.look();
    assert_eq!((gone.kinds(), gone.names()), (vec![NoticeKind::Gone], vec![]));
    cluster.start_again().unwrap();
    let back = looking.look();
    assert_eq!(back.kinds(), [NoticeKind::Appeared, NoticeKind::Restarted], "{:?}", back.texts());
    assert_eq!((back.value("pg_commits", ""), back.value("pg_connections_limit", "")), (None, Some(100.0)));
    assert!(looking.look().value("pg_commits", "").is_some());
}

#[test]
fn what_cannot_be_asked_shows_no_password() {
    let cluster = Cluster::start().unwrap();
    let address = cluster.address();
    let seen = watch(&format!("postgresql://absent:s3cret@{address}/service"), &[]).look();
    assert_eq!(seen.texts(), ["PostgreSQL cannot be queried: role \"absent\" does not exist"]);
    let seen = watch("postgresql://me:s3cret@host:port:/x", &[]).look();
    assert_eq!(seen.texts(), ["PostgreSQL cannot be queried: its URL is invalid"]);
}

#[test]
fn a_server_is_known_by_its_version_and_settings() {
    let cluster = |work_mem: &str| {
        let settings = vec![("work_mem".to_owned(), work_mem.to_owned())];
        let cluster = Cluster::start_with(&Options { fsync: false, settings, ..Options::default() }).unwrap();
        observe::identify_postgres(&url(&cluster, ADMIN, DATABASE)).unwrap()
    };
    let (one, same, other) = (cluster("8MB"), cluster("8MB"), cluster("9MB"));
    assert_eq!(one, same, "where a server lies makes no difference");
    assert_ne!(one["postgres_settings"], other["postgres_settings"]);
    assert_eq!((one["postgres_database"].as_str(), one["postgres_settings"].len()), (DATABASE, 64));
    assert!(one["postgres_version"].starts_with(|c: char| c.is_ascii_digit()));
    let gone = observe::identify_postgres("postgresql://me:s3cret@127.0.0.1:1/x").unwrap_err();
    assert!(!gone.contains("s3cret"), "{gone}");
}

#[test]
fn a_server_that_accepts_and_never_answers_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgresql://me:s3cret@{}/x", listener.local_addr().unwrap());
    let (send, identified) = channel();
    // On a thread of its own, so that a wait without end fails the test.
    thread::spawn(move || send.send(observe::identify_postgres(&url)));
    let why = identified.recv_timeout(Duration::from_secs(60)).expect("it returns").unwrap_err();
    assert_eq!(why, "PostgreSQL cannot be queried: it did not answer within 2 s");
}

#[test]
fn a_server_that_begins_a_session_and_never_answers_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgresql://me:s3cret@{}/x?sslmode=disable", listener.local_addr().unwrap());
    let (end, ended) = channel::<()>();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // AuthenticationOk and ReadyForQuery.
        stream.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
        let _ = ended.recv();
    });
    let (send, identified) = channel();
    thread::spawn(move || send.send(observe::identify_postgres(&url)));
    let why = identified.recv_timeout(Duration::from_secs(60)).expect("it returns").unwrap_err();
    assert_eq!(why, "PostgreSQL cannot be queried: it did not answer within 10 s");
    drop(end);
    server.join().unwrap();
}
