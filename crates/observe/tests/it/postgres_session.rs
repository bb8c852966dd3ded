//! What the observer leaves behind in a PostgreSQL server: no setting, and nothing of its own in what it reports.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use peers::poll;
use peers::postgres::{ADMIN, Cluster, DATABASE, Options};

use crate::looking::Looking;

/// Asked of the server's session whenever a pooler might give it to another client.
const SETTINGS: &str = "SELECT concat_ws(' ', current_setting('statement_timeout'), \
     current_setting('standard_conforming_strings'), current_setting('transaction_read_only'), \
     current_setting('default_transaction_read_only'))";

fn cluster(settings: &[(&str, &str)]) -> Cluster {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let settings = settings.collect();
    Cluster::start_with(&Options { fsync: false, settings, ..Options::default() }).unwrap()
}

fn watch(address: SocketAddr, tables: &[&str]) -> Looking {
    let url = format!("postgresql://{ADMIN}@{address}/{DATABASE}?sslmode=disable");
    let tables: Vec<String> = tables.iter().map(|name| (*name).to_owned()).collect();
    Looking::new(observe::postgres("shop", &url, &tables, Duration::from_secs(1)).unwrap())
}

/// Forwards between the observer and the server like a pooler, and uses the server's session itself whenever no
/// transaction is open in it: what it finds there is what another client would.
struct Pooler {
    address: SocketAddr,
    found: Arc<Mutex<Vec<String>>>,
}

impl Pooler {
    fn start(server: SocketAddr) -> Pooler {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let found = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&found);
        thread::spawn(move || {
            for client in listener.incoming() {
                let (server, kept) = (TcpStream::connect(server).unwrap(), Arc::clone(&kept));
                // It fails when the client ends the session.
                thread::spawn(move || relay(client.unwrap(), server, &kept));
            }
        });
        Pooler { address, found }
    }

    fn found(&self) -> Vec<String> {
        self.found.lock().unwrap().clone()
    }
}

fn relay(mut client: TcpStream, mut server: TcpStream, found: &Mutex<Vec<String>>) -> io::Result<()> {
    // The first message has no type.
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut startup = vec![0; u32::from_be_bytes(length) as usize - 4];
    client.read_exact(&mut startup)?;
    server.write_all(&[&length[..], &startup[..]].concat())?;
    loop {
        loop {
            let (kind, body) = read_message(&mut server)?;
            if (kind, body.as_slice()) == (b'Z', b"I") {
                found.lock().unwrap().push(ask(&mut server)?);
            }
            write_message(&mut client, kind, &body)?;
            if kind == b'Z' {
                break;
            }
        }
        let (kind, body) = read_message(&mut client)?;
        write_message(&mut server, kind, &body)?;
    }
}

fn ask(server: &mut TcpStream) -> io::Result<String> {
    write_message(server, b'Q', format!("{SETTINGS}\0").as_bytes())?;
    let mut row = String::new();
    loop {
        match read_message(server)? {
            // The number of columns, and the length of the only one.
            (b'D', body) => row = String::from_utf8_lossy(&body[6..]).into_owned(),
            (b'Z', _) => return Ok(row),
            _ => {}
        }
    }
}

fn read_message(from: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    from.read_exact(&mut body)?;
    Ok((kind, body))
}

fn write_message(to: &mut TcpStream, kind: u8, body: &[u8]) -> io::Result<()> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    to.write_all(&[&[kind][..], &length, body].concat())
}

#[test]
fn no_setting_outlives_a_transaction() {
    let cluster = cluster(&[("statement_timeout", "17s"), ("standard_conforming_strings", "off")]);
    cluster
        .sql(DATABASE, "CREATE EXTENSION pg_stat_statements; CREATE TABLE \"o'neill\\\" (id int)")
        .unwrap();
    let pooler = Pooler::start(cluster.address());
    let mut looking = watch(pooler.address, &["\"o'neill\\\""]);
    let seen = looking.look();
    assert_eq!((seen.value("pg_table_rows", "\"o'neill\\\""), seen.texts()), (Some(0.0), vec![]));
    looking.look();
    let url = format!("postgresql://{ADMIN}@{}/{DATABASE}?sslmode=disable", pooler.address);
    observe::identify_postgres(&url).unwrap();
    let found = pooler.found();
    assert!(found.len() >= 8, "{found:?}");
    assert!(found.iter().all(|settings| settings == "17s off off off"), "{found:?}");
}

#[test]
fn a_statement_that_waits_is_cancelled() {
    let cluster = cluster(&[]);
    cluster.sql(DATABASE, "CREATE TABLE orders (id int)").unwrap();
    let pooler = Pooler::start(cluster.address());
    let mut looking = watch(pooler.address, &["orders"]);
    looking.look();
    let mut holder = postgres::Client::connect(
        &format!("postgresql://{ADMIN}@{}/{DATABASE}", cluster.address()),
        postgres::NoTls,
    )
    .unwrap();
    let mut transaction = holder.transaction().unwrap();
    transaction.batch_execute("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE").unwrap();
    let late = "PostgreSQL cannot be queried: canceling statement due to statement timeout";
    assert_eq!(looking.look().texts(), [late]);
    transaction.rollback().unwrap();
    assert_eq!(looking.look().value("pg_table_rows", "orders"), Some(0.0));
    assert!(pooler.found().iter().all(|settings| settings == "0 on off off"), "{:?}", pooler.found());
}

/// Commits in the watched database, without one of the session that asks.
fn commits(cluster: &Cluster) -> i64 {
    let sql = format!("SELECT xact_commit FROM pg_stat_database WHERE datname = '{DATABASE}'");
    cluster.sql(ADMIN, &sql).unwrap().trim().parse().unwrap()
}

#[test]
fn its_own_statements_sessions_and_transactions_are_left_out() {
    let cluster = cluster(&[("autovacuum", "off"), ("pg_stat_statements.track", "all")]);
    cluster.sql(DATABASE, "CREATE EXTENSION pg_stat_statements").unwrap();
    let before = commits(&cluster);
    let mut looking = watch(cluster.address(), &[]);
    looking.look();
    let (mut seen, mut reported) = (Vec::new(), Vec::new());
    // The server counts them at once, or a second later.
    let counted = poll::until(Duration::from_secs(60), || {
        seen.push(looking.look());
        commits(&cluster) >= before + 6
    });
    seen.push(looking.look());
    assert!(counted, "the server counts the observer's transactions");
    for seen in &seen {
        reported.extend(seen.value("pg_commits", "").into_iter().chain(seen.value("pg_rollbacks", "")));
        assert_eq!(seen.parts("pg_statement_calls"), [], "no other client ran a statement");
        assert_eq!(seen.value("pg_connections", "active"), Some(0.0));
    }
    assert_eq!((reported.len(), reported.iter().sum::<f64>()), (2 * seen.len(), 0.0), "{reported:?}");

    // Those of others are all counted.
    let after = looking.look();
    assert_eq!(after.value("pg_commits", ""), Some(0.0));
    let mut client = postgres::Client::connect(
        &format!("postgresql://{ADMIN}@{}/{DATABASE}", cluster.address()),
        postgres::NoTls,
    )
    .unwrap();
    for _ in 0..7 {
        client.batch_execute("SELECT count(*), pg_stat_force_next_flush() FROM pg_database").unwrap();
    }
    let seen = looking.look();
    let calls = seen.parts("pg_statement_calls");
    let [(text, calls)] = calls.as_slice() else { panic!("one statement was called: {calls:?}") };
    assert!(text.ends_with("SELECT count(*), pg_stat_force_next_flush() FROM pg_database"), "{text}");
    // The session's own beginning is a transaction, too.
    let commits = seen.value("pg_commits", "").unwrap() / calls * 7.0;
    assert!((commits - 8.0).abs() < 0.5, "{commits}");
}

#[test]
fn statistics_that_are_reset_are_a_gap_and_no_wrong_rate() {
    let cluster = cluster(&[("autovacuum", "off")]);
    cluster.sql(DATABASE, "CREATE EXTENSION pg_stat_statements; CREATE TABLE orders (id int)").unwrap();
    let work = "INSERT INTO orders SELECT generate_series(1, 100);";
    cluster.sql(DATABASE, work).unwrap();
    let mut looking = watch(cluster.address(), &["orders"]);
    looking.look();
    assert!(looking.look().value("pg_commits", "").is_some());
    assert_eq!(looking.look().value("pg_table_rows", "orders"), Some(100.0));

    // More happens after the reset than ever before.
    cluster.sql(DATABASE, "SELECT pg_stat_reset()").unwrap();
    let many = "SELECT count(*), pg_stat_force_next_flush() FROM orders;\n".repeat(500);
    cluster.sql(DATABASE, &many).unwrap();
    let seen = looking.look();
    let rates = ["pg_commits", "pg_rollbacks", "pg_cache_hits", "pg_cache_hit_ratio"];
    assert_eq!(rates.map(|name| seen.value(name, "")), [None; 4]);
    assert_eq!(seen.value("pg_table_rows", "orders"), None, "the server has forgotten them");
    assert!(seen.value("pg_table_size", "orders").unwrap() > 0.0);
    assert!(
        seen.texts()[0].starts_with("reset 1: the counters of the database began anew"),
        "{:?}",
        seen.texts()
    );
    let next = looking.look();
    assert!(next.value("pg_commits", "").is_some() && next.value("pg_table_rows", "orders").is_none());
    cluster.sql(DATABASE, "ANALYZE orders").unwrap();
    assert_eq!(looking.look().value("pg_table_rows", "orders"), Some(100.0));
}

#[test]
fn statements_that_are_reset_are_a_gap_and_no_wrong_rate() {
    let cluster = cluster(&[("autovacuum", "off")]);
    cluster.sql(DATABASE, "CREATE EXTENSION pg_stat_statements; CREATE TABLE orders (id int)").unwrap();
    let mut client = postgres::Client::connect(
        &format!("postgresql://{ADMIN}@{}/{DATABASE}", cluster.address()),
        postgres::NoTls,
    )
    .unwrap();
    let mut call = |count: usize| {
        for _ in 0..count {
            client.simple_query("SELECT count(*) FROM orders WHERE id = 7").unwrap();
        }
    };
    let mut looking = watch(cluster.address(), &[]);
    call(2);
    looking.look();
    call(3);
    let seen = looking.look();
    assert_eq!(seen.parts("pg_statement_calls").len(), 1);
    assert_eq!(seen.texts(), Vec::<&str>::new());
    cluster.sql(DATABASE, "SELECT pg_stat_statements_reset()").unwrap();
    // More calls than there had been before the reset.
    call(20);
    let seen = looking.look();
    assert_eq!((seen.parts("pg_statement_calls"), seen.parts("pg_statement_time")), (vec![], vec![]));
    assert!(seen.texts()[0].starts_with("pg_stat_statements was reset at "), "{:?}", seen.texts());
    call(5);
    assert!(looking.look().parts("pg_statement_calls").iter().all(|(_, rate)| *rate > 0.0));
}
