//! The connection options of ad-hoc runs, each against a peer that logs connections.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use testbed::{Authority, Behaviour, Front, GrpcBehaviour, Target, Validity};

use crate::command::TestFolder;
use crate::preparation::PROTO;

/// No request is sent before the load, so that connections are those of the load.
const LOAD: [&str; 6] = ["-n", "6", "-c", "2", "--quiet", "--no-precheck"];

fn line<'a>(what: &[&'a str]) -> Vec<&'a str> {
    [what, &LOAD].concat()
}

/// Hands bytes on, in both directions, until either side ends.
fn hand_on(client: impl Into<std::os::fd::OwnedFd>, to: SocketAddr) -> io::Result<()> {
    // Any descriptor can be read and written like a file.
    let mut client = std::fs::File::from(client.into());
    let mut server = TcpStream::connect(to)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || io::copy(&mut answers, &mut back));
    io::copy(&mut client, &mut server)?;
    server.shutdown(std::net::Shutdown::Write)
}

/// Takes connections at a socket for a target.
pub(crate) fn at_socket(path: &Path, target: SocketAddr) {
    let listener = UnixListener::bind(path).unwrap();
    thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            thread::spawn(move || hand_on(client, target));
        }
    });
}

/// Takes connections at a port for a target, and notes where they come from.
fn noting(target: SocketAddr) -> (SocketAddr, Arc<Mutex<Vec<IpAddr>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (addr, noted) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
    let from = noted.clone();
    thread::spawn(move || {
        while let Ok((client, peer)) = listener.accept() {
            from.lock().unwrap().push(peer.ip());
            thread::spawn(move || hand_on(client, target));
        }
    });
    (addr, noted)
}

fn web() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

#[test]
fn certificates_are_trusted_as_the_options_say() {
    let target = web();
    let authority = Authority::new();
    let identity = authority.vouch_for(&["127.0.0.1", "shop.test"], Validity::Now);
    let front = Front::new(identity).protocol("http/1.1", target.addr()).start().unwrap();
    let folder = TestFolder::new("");
    folder.write("ca.pem", authority.pem());
    folder.write("other.pem", Authority::new().pem());
    let url = format!("https://{}/", front.addr());
    folder
        .plimsoll(&line(&["http", &url, "--cacert", "ca.pem"]))
        .exits_with(0)
        .stdout_contains(&["6 ended, 0 failed"]);
    let careless = folder.plimsoll(&line(&["http", &url, "--insecure"]));
    careless
        .exits_with(0)
        .stdout_contains(&["6 ended, 0 failed"])
        .stderr_contains(&["any certificate is trusted"]);
    assert_eq!(target.requests(), 12);
    // The certificate must be for the named host, wherever the connection goes.
    let to = front.addr().to_string();
    let named = ["http", "https://shop.test/", "--connect-to", &to, "--cacert", "ca.pem"];
    folder.plimsoll(&line(&named)).exits_with(0).stdout_contains(&["6 ended, 0 failed"]);
    let strange = ["http", "https://other.test/", "--connect-to", &to, "--cacert", "ca.pem"];
    folder.plimsoll(&line(&strange)).exits_with(3).stdout_contains(&["6 failed", "tls 6"]);
    folder
        .plimsoll(&line(&["http", &url, "--cacert", "other.pem"]))
        .exits_with(3)
        .stdout_contains(&["6 failed", "tls 6"]);
    folder
        .plimsoll(&line(&["http", &url, "--cacert", "none.pem"]))
        .exits_with(2)
        .stderr_contains(&["none.pem"]);
    assert_eq!(target.requests(), 18);
}

#[test]
fn a_self_signed_certificate_is_named_and_can_be_trusted_itself() {
    let target = web();
    let identity = Authority::self_signed(&["127.0.0.1"]);
    let folder = TestFolder::new("");
    folder.write("own.pem", identity.pem().0);
    folder.write("other.pem", Authority::self_signed(&["127.0.0.1"]).pem().0);
    let front = Front::new(identity).protocol("http/1.1", target.addr()).start().unwrap();
    let url = format!("https://{}/", front.addr());
    let said = ["the certificate is self-signed; trust it with", "--cacert", "--insecure"];
    folder.plimsoll(&line(&["http", &url])).exits_with(3).stdout_contains(&said);
    folder
        .plimsoll(&line(&["http", &url, "--cacert", "other.pem"]))
        .exits_with(3)
        .stdout_contains(&["tls 6"]);
    assert_eq!(target.requests(), 0);
    folder
        .plimsoll(&line(&["http", &url, "--cacert", "own.pem"]))
        .exits_with(0)
        .stdout_contains(&["6 ended, 0 failed"]);
    // It must be valid for the name.
    let to = front.addr().to_string();
    let strange = ["http", "https://other.test/", "--connect-to", &to, "--cacert", "own.pem"];
    folder.plimsoll(&line(&strange)).exits_with(3).stdout_contains(&["6 failed", "tls 6"]);
    assert_eq!(target.requests(), 6);
}

#[test]
fn the_client_certificate_of_the_options_is_sent() {
    let (web, rpc) = (web(), testbed::grpc(GrpcBehaviour::Echo).unwrap());
    let (authority, clients) = (Authority::new(), Authority::new());
    let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
    let front = Front::new(identity).asks_clients(&clients);
    let front = front.protocol("http/1.1", web.addr()).protocol("h2", rpc.addr()).start().unwrap();
    let folder = TestFolder::new("");
    let us = clients.vouch_for(&["plimsoll"], Validity::Now);
    for (name, text) in [
        ("ca.pem", authority.pem().as_str()),
        ("us.pem", us.pem().0),
        ("us.key", us.pem().1),
        ("e.proto", PROTO),
    ] {
        folder.write(name, text);
    }
    let url = format!("https://{}", front.addr());
    let known = ["--cacert", "ca.pem", "--cert", "us.pem", "--key", "us.key"];
    folder
        .plimsoll(&line(&[&["grpc", &url, "demo.Events/Send", "--proto", "e.proto"], &known[..]].concat()))
        .exits_with(0)
        .stdout_contains(&["6 ended, 0 failed"]);
    folder.plimsoll(&line(&[&["http", &url, "--http2"], &known[..]].concat())).exits_with(0);
    assert_eq!((rpc.requests(), web.requests()), (12, 0));
    folder
        .plimsoll(&line(&["http", &url, "--cacert", "ca.pem"]))
        .exits_with(3)
        .stdout_contains(&["6 failed"]);
    folder.plimsoll(&line(&["http", &url, "--cert", "us.pem"])).exits_with(2).stderr_contains(&["--key"]);
    assert_eq!((rpc.requests(), web.requests()), (12, 0));
}

#[test]
fn a_unix_socket_replaces_the_port() {
    let target = web();
    let folder = TestFolder::new("");
    at_socket(&folder.path("web.sock"), target.addr());
    folder
        .plimsoll(&line(&["http", "http://shop.test/x", "--unix-socket", "web.sock"]))
        .exits_with(0)
        .stdout_contains(&["6 ended, 0 failed"]);
    assert_eq!((target.requests(), target.log()[0].header("host")), (6, Some("shop.test")));
    let gone = folder.plimsoll(&line(&["http", "http://shop.test/x", "--unix-socket", "gone.sock"]));
    gone.exits_with(2).stderr_contains(&["gone.sock"]);
    let both = ["http", "http://h/", "--unix-socket", "web.sock", "--connect-to", "h:1"];
    folder.plimsoll(&line(&both)).exits_with(2).stderr_contains(&["cannot be used with"]);
}

#[test]
fn connections_come_from_the_local_address_option() {
    let target = web();
    let (addr, noted) = noting(target.addr());
    let folder = TestFolder::new("");
    let url = format!("http://{addr}/");
    folder.plimsoll(&line(&["http", &url, "--local-address", "127.0.0.7"])).exits_with(0);
    let ours = IpAddr::from([127, 0, 0, 7]);
    assert!(noted.lock().unwrap().contains(&ours), "{noted:?}");
    assert_eq!(target.requests(), 6);
    // The readiness check may come from any address.
    let elsewhere = noted.lock().unwrap().iter().filter(|from| **from != ours).count();
    assert!(elsewhere <= 1, "{noted:?}");
    let foreign = folder.plimsoll(&line(&["http", &url, "--local-address", "192.0.2.1"]));
    foreign.exits_with(2).stderr_contains(&["192.0.2.1 is not an address of this machine"]);
    assert_eq!(target.requests(), 6);
}

#[test]
fn a_name_resolves_to_addresses_of_one_family_only() {
    let target = web();
    let folder = TestFolder::new("");
    let url = format!("http://localhost:{}/", target.addr().port());
    folder.plimsoll(&line(&["http", &url, "--ipv4"])).exits_with(0).stdout_contains(&["6 ended, 0 failed"]);
    // The other family's address, if the name has one, refuses connections.
    folder.plimsoll(&line(&["http", &url, "--ipv6"])).exits_with(2).stderr_contains(&["localhost"]);
    let literal = format!("http://{}/", target.addr());
    folder.plimsoll(&line(&["http", &literal, "--ipv6"])).exits_with(2).stderr_contains(&["127.0.0.1"]);
    folder
        .plimsoll(&line(&["http", &url, "--ipv4", "--ipv6"]))
        .exits_with(2)
        .stderr_contains(&["cannot be used with"]);
    assert_eq!(target.requests(), 6);
}

/// How many requests the target held at once, at most.
fn most_at_once(target: &Target) -> usize {
    let log = target.log();
    let held_at = |at: u64| {
        let is_held = |(received, answered): &(u64, Option<u64>)| {
            *received <= at && answered.is_none_or(|answered| answered > at)
        };
        log.iter().map(|served| (served.received_ns, served.answered_ns)).filter(is_held).count()
    };
    log.iter().map(|served| held_at(served.received_ns)).max().unwrap_or(0)
}

#[test]
fn requests_of_all_connections_are_under_way_at_once() {
    let target = testbed::grpc(GrpcBehaviour::after(std::time::Duration::from_secs(4))).unwrap();
    let url = format!("http://{}/", target.addr());
    TestFolder::new("")
        .plimsoll(&["http", &url, "--http2", "-c", "8", "-p", "100", "-n", "800", "--quiet", "--no-precheck"])
        .exits_with(0)
        .stdout_contains(&["800 ended, 0 failed"]);
    // One more connection is opened before the load, to see that it can be.
    let connections: std::collections::BTreeSet<u64> =
        target.log().iter().map(|served| served.connection).collect();
    assert_eq!((most_at_once(&target), target.requests(), connections.len()), (800, 800, 8));
}

#[test]
fn a_server_without_http2_is_named() {
    let target = web();
    let (url, folder) = (format!("http://{}", target.addr()), TestFolder::new(""));
    folder
        .plimsoll(&["http", &url, "--http2"])
        .exits_with(2)
        .stderr_contains(&["does not speak HTTP/2 on this port", "without `--http2`"]);
    folder.plimsoll(&["grpc", &target.addr().to_string()]).exits_with(2).stderr_contains(&[
        "does not speak HTTP/2 on this port, as gRPC needs",
        &format!("`plimsoll {url}`"),
    ]);
}

/// Each command says which scheme the port wants; a port of another server is named too.
#[test]
fn the_scheme_that_a_port_speaks_is_named() {
    let target = web();
    let identity = Authority::self_signed(&["127.0.0.1"]);
    let front = Front::new(identity).protocol("http/1.1", target.addr()).start().unwrap();
    let (plain, secure, gone) = (target.addr(), front.addr(), crate::command::refusal().addr());
    let folder = TestFolder::new(&crate::command::checked(&crate::command::open(plain, 1)));
    let to_secure = format!("this port speaks TLS: write `https://{secure}`");
    let to_plain = "write `http://` instead of `https://`".to_owned();
    let to_gone = format!("nothing answers at {gone}");
    for (scheme, address, said) in
        [("http", secure, &to_secure), ("https", plain, &to_plain), ("http", gone, &to_gone)]
    {
        let url = format!("{scheme}://{address}");
        let target = format!("api={url}");
        let of_grpc = if scheme == "http" { address.to_string() } else { url.clone() };
        for (line, code) in [
            (vec!["http", &url, "-n", "1"], 2),
            (vec!["run", "plan.toml", "--target", &target], 2),
            (vec!["run", "plan.toml", "--target", &target, "--once"], if address == gone { 2 } else { 3 }),
            (vec!["grpc", &of_grpc], 2),
            (vec!["quick", &url], if address == gone { 2 } else { 3 }),
        ] {
            let ran = folder.plimsoll(&line);
            ran.exits_with(code);
            let shown =
                format!("{}{}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains(said.as_str()), "{line:?}: no {said:?} in {shown}");
        }
    }
}
