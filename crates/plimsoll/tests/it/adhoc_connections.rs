//! The options of a line that say how connections are made, each against a peer that can tell.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

use testbed::{Authority, Behaviour, Front, GrpcBehaviour, Target, Validity};

use crate::command::Place;
use crate::preparation::PROTO;

const LOAD: [&str; 5] = ["-n", "6", "-c", "2", "--quiet"];

fn line<'a>(what: &[&'a str]) -> Vec<&'a str> {
    [what, &LOAD].concat()
}

/// Hands bytes on, in both directions, until either side ends.
fn hand_on(client: impl Into<std::os::fd::OwnedFd>, to: SocketAddr) -> io::Result<()> {
    // Whatever it is, it is read and written as a file is.
    let mut client = std::fs::File::from(client.into());
    let mut server = TcpStream::connect(to)?;
    let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
    thread::spawn(move || io::copy(&mut answers, &mut back));
    io::copy(&mut client, &mut server)?;
    server.shutdown(std::net::Shutdown::Write)
}

/// Takes connections at a socket for a target.
fn at_socket(path: &Path, target: SocketAddr) {
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
fn certificates_are_trusted_as_the_line_says() {
    let target = web();
    let authority = Authority::new();
    let identity = authority.vouch_for(&["127.0.0.1", "shop.test"], Validity::Now);
    let front = Front::new(identity).speaks("http/1.1", target.addr()).start().unwrap();
    let place = Place::new("");
    place.write("ca.pem", authority.pem());
    place.write("other.pem", Authority::new().pem());
    let url = format!("https://{}/", front.addr());
    place.plimsoll(&line(&["http", &url, "--cacert", "ca.pem"])).ended(0).says(&["6 ended, 0 failed"]);
    let careless = place.plimsoll(&line(&["http", &url, "--insecure"]));
    careless.ended(0).says(&["6 ended, 0 failed"]).complains(&["any certificate is trusted"]);
    assert_eq!(target.requests(), 12);
    // Who is named is what the certificate must say, wherever the connection goes.
    let to = front.addr().to_string();
    let named = ["http", "https://shop.test/", "--connect-to", &to, "--cacert", "ca.pem"];
    place.plimsoll(&line(&named)).ended(0).says(&["6 ended, 0 failed"]);
    let strange = ["http", "https://other.test/", "--connect-to", &to, "--cacert", "ca.pem"];
    place.plimsoll(&line(&strange)).ended(0).says(&["6 failed", "tls 6"]);
    place.plimsoll(&line(&["http", &url, "--cacert", "other.pem"])).ended(0).says(&["6 failed", "tls 6"]);
    place.plimsoll(&line(&["http", &url, "--cacert", "none.pem"])).ended(2).complains(&["none.pem"]);
    assert_eq!(target.requests(), 18);
}

#[test]
fn we_are_who_the_line_says() {
    let (web, rpc) = (web(), testbed::grpc(GrpcBehaviour::Echo).unwrap());
    let (authority, clients) = (Authority::new(), Authority::new());
    let identity = authority.vouch_for(&["127.0.0.1"], Validity::Now);
    let front = Front::new(identity).asks_clients(&clients);
    let front = front.speaks("http/1.1", web.addr()).speaks("h2", rpc.addr()).start().unwrap();
    let place = Place::new("");
    let us = clients.vouch_for(&["plimsoll"], Validity::Now);
    for (name, text) in [
        ("ca.pem", authority.pem().as_str()),
        ("us.pem", us.pem().0),
        ("us.key", us.pem().1),
        ("e.proto", PROTO),
    ] {
        place.write(name, text);
    }
    let url = format!("https://{}", front.addr());
    let known = ["--cacert", "ca.pem", "--cert", "us.pem", "--key", "us.key"];
    place
        .plimsoll(&line(&[&["grpc", &url, "demo.Events/Send", "--proto", "e.proto"], &known[..]].concat()))
        .ended(0)
        .says(&["6 ended, 0 failed"]);
    place.plimsoll(&line(&[&["http", &url, "--http2"], &known[..]].concat())).ended(0);
    assert_eq!((rpc.requests(), web.requests()), (12, 0));
    place.plimsoll(&line(&["http", &url, "--cacert", "ca.pem"])).ended(0).says(&["6 failed"]);
    place.plimsoll(&line(&["http", &url, "--cert", "us.pem"])).ended(2).complains(&["--key"]);
    assert_eq!((rpc.requests(), web.requests()), (12, 0));
}

#[test]
fn a_socket_stands_for_a_port() {
    let target = web();
    let place = Place::new("");
    at_socket(&place.path("web.sock"), target.addr());
    place
        .plimsoll(&line(&["http", "http://shop.test/x", "--unix-socket", "web.sock"]))
        .ended(0)
        .says(&["6 ended, 0 failed"]);
    assert_eq!((target.requests(), target.log()[0].header("host")), (6, Some("shop.test")));
    let gone = place.plimsoll(&line(&["http", "http://shop.test/x", "--unix-socket", "gone.sock"]));
    gone.ended(2).complains(&["gone.sock"]);
    let both = ["http", "http://h/", "--unix-socket", "web.sock", "--connect-to", "h:1"];
    place.plimsoll(&line(&both)).ended(2).complains(&["cannot be used with"]);
}

#[test]
fn connections_come_from_the_address_that_is_named() {
    let target = web();
    let (addr, noted) = noting(target.addr());
    let place = Place::new("");
    let url = format!("http://{addr}/");
    place.plimsoll(&line(&["http", &url, "--local-address", "127.0.0.7"])).ended(0);
    let ours = IpAddr::from([127, 0, 0, 7]);
    assert!(noted.lock().unwrap().contains(&ours), "{noted:?}");
    assert_eq!(target.requests(), 6);
    // The look whether anybody is there may come from anywhere.
    let elsewhere = noted.lock().unwrap().iter().filter(|from| **from != ours).count();
    assert!(elsewhere <= 1, "{noted:?}");
    let foreign = place.plimsoll(&line(&["http", &url, "--local-address", "192.0.2.1"]));
    foreign.ended(2).complains(&["192.0.2.1 is no address of this machine"]);
    assert_eq!(target.requests(), 6);
}

#[test]
fn a_name_leads_to_addresses_of_one_family_alone() {
    let target = web();
    let place = Place::new("");
    let url = format!("http://localhost:{}/", target.addr().port());
    place.plimsoll(&line(&["http", &url, "--ipv4"])).ended(0).says(&["6 ended, 0 failed"]);
    // Nobody listens at the other family's address, if the name has one.
    place.plimsoll(&line(&["http", &url, "--ipv6"])).ended(2).complains(&["localhost"]);
    let literal = format!("http://{}/", target.addr());
    place.plimsoll(&line(&["http", &literal, "--ipv6"])).ended(2).complains(&["127.0.0.1"]);
    place.plimsoll(&line(&["http", &url, "--ipv4", "--ipv6"])).ended(2).complains(&["cannot be used with"]);
    assert_eq!(target.requests(), 6);
}
