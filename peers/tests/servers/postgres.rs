//! PostgreSQL: started, queried, killed, paused and removed.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use peers::poll;
use peers::postgres::{ADMIN, Cluster, DATABASE, Options};

const SOON: Duration = Duration::from_secs(30);

#[test]
fn two_clusters_live_side_by_side_and_leave_nothing() {
    let [one, other] = [Cluster::start().unwrap(), Cluster::start().unwrap()];
    assert_ne!(one.address(), other.address());
    one.sql(DATABASE, "CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2)").unwrap();
    assert_eq!(one.sql(DATABASE, "SELECT n, n * 2 FROM t ORDER BY n").unwrap(), "1|2\n2|4");
    let error = other.sql(DATABASE, "SELECT * FROM t").unwrap_err().to_string();
    assert!(error.contains("relation \"t\" does not exist"), "{error}");
    let folders = [one.socket_folder().to_owned(), other.socket_folder().to_owned()];
    let addresses = [one.address(), other.address()];
    drop((one, other));
    assert!(folders.iter().all(|folder| !folder.exists()));
    assert!(addresses.iter().all(|address| TcpStream::connect(address).is_err()));
}

#[test]
fn committed_data_survives_a_kill_and_a_stop() {
    let mut cluster = Cluster::start().unwrap();
    let port = cluster.port();
    cluster.sql(DATABASE, "CREATE TABLE t (n int); INSERT INTO t VALUES (1)").unwrap();
    cluster.kill();
    assert!(TcpStream::connect(cluster.address()).is_err());
    cluster.start_again().unwrap();
    cluster.sql(DATABASE, "INSERT INTO t VALUES (2)").unwrap();
    cluster.stop().unwrap();
    let error = cluster.sql(DATABASE, "SELECT 1").unwrap_err().to_string();
    assert!(error.contains("Connection refused"), "{error}");
    cluster.start_again().unwrap();
    assert_eq!(cluster.port(), port);
    assert_eq!(cluster.sql(DATABASE, "SELECT sum(n) FROM t").unwrap(), "3");
}

#[test]
fn a_paused_server_answers_only_when_it_is_resumed() {
    /// Asks whether the server uses TLS; it answers with one letter, N for no.
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
    let cluster = Cluster::start().unwrap();
    cluster.pause();
    let mut connection = TcpStream::connect(cluster.address()).unwrap();
    connection.write_all(&SSL_REQUEST).unwrap();
    connection.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut answer = [0];
    assert!(connection.read(&mut answer).is_err(), "it answered {answer:?} while it was paused");
    cluster.resume();
    connection.set_read_timeout(Some(SOON)).unwrap();
    connection.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"N");
    assert_eq!(cluster.sql(DATABASE, "SELECT 7").unwrap(), "7");
    // Dropped as it is, it must still end.
    cluster.pause();
}

#[test]
fn the_service_gets_a_user_without_special_rights() {
    let cluster = Cluster::start().unwrap();
    cluster.create_database("of \"one\" test").unwrap();
    let [host, port, name, user] = cluster.env_for("of \"one\" test");
    assert_eq!(host, ("DB_HOST", "127.0.0.1".to_owned()));
    assert_eq!(port, ("DB_PORT", cluster.port().to_string()));
    assert_eq!(name, ("DB_NAME", "of \"one\" test".to_owned()));
    let roles = format!("SELECT rolsuper, rolcanlogin FROM pg_roles WHERE rolname = '{}'", user.1);
    assert_eq!(cluster.sql(ADMIN, &roles).unwrap(), "f|t");
    let owner = "SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()";
    assert_eq!(cluster.sql(&name.1, owner).unwrap(), user.1);
}

#[test]
fn options_reach_the_server_and_refused_ones_are_reported_with_its_log() {
    let settings = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
    let unsynced = Options {
        fsync: false,
        max_connections: 20,
        settings: settings("work_mem", "5MB"),
        ..Options::default()
    };
    let cluster = Cluster::start_with(&unsynced).unwrap();
    let query = "SELECT name, setting FROM pg_settings \
                 WHERE name IN ('fsync', 'max_connections', 'synchronous_commit', 'work_mem') ORDER BY name";
    let rows = cluster.sql(ADMIN, query).unwrap();
    assert_eq!(rows, "fsync|off\nmax_connections|20\nsynchronous_commit|on\nwork_mem|5120");
    let refused = Options { settings: settings("work_mem", "-7"), ..Options::default() };
    let error = Cluster::start_with(&refused).err().unwrap().to_string();
    assert!(error.contains("before it was ready; the end of its log:"), "{error}");
    assert!(error.contains("-7 kB is outside the valid range for parameter \"work_mem\""), "{error}");
}

#[test]
fn a_killed_owner_leaves_neither_server_nor_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    std::fs::set_permissions(temporary.path(), open).unwrap();
    let mut owner = Command::new(env!("CARGO_BIN_EXE_peers"));
    owner.arg("postgres").env("TMPDIR", temporary.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut owner = owner.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let port = line.split(' ').find_map(|word| word.strip_prefix("DB_PORT=")).unwrap();
    let address = format!("127.0.0.1:{port}");
    assert!(TcpStream::connect(&address).is_ok(), "{line}");
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(poll::until(SOON, || is_empty(temporary.path())), "the folder is still there");
    assert!(TcpStream::connect(&address).is_err());
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}
