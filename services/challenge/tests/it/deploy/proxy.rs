//! The reverse proxies of `deploy/proxy`, by a real nginx: one host name, bounded connections, and no way to a port of
//! operators.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use peers::nginx::Nginx;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use testkit::yaml;

use crate::support::Server;

/// Requests in progress that an address may have in these tests.
const ADMITTED: usize = 4;
/// The name that the tests' certificate has.
const NAME: &str = "localhost";

type Tls = StreamOwned<ClientConnection, TcpStream>;

/// nginx as a file of `deploy/` configures it, with this port for every upstream.
fn proxy(file: &str, service: &str, upstream: SocketAddr) -> Nginx {
    let text = yaml::text(file);
    Nginx::start_configured(|folder, [port]| adapted(&text, service, folder, Ports { port, upstream }))
        .unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[derive(Clone, Copy)]
struct Ports {
    port: u16,
    upstream: SocketAddr,
}

/// The configuration with the names, ports and files of a test in place of those of a deployment.
fn adapted(text: &str, service: &str, folder: &Path, ports: Ports) -> String {
    let own = testkit::tls::folder();
    let file = |name: &str| own.join(name).display().to_string();
    let mut lines = Vec::new();
    for line in text.lines() {
        let is_upstream = line.trim_start().starts_with("server ") && line.contains(':');
        lines.push(match is_upstream {
            true => format!("server {};", ports.upstream),
            false => line.to_owned(),
        });
    }
    let text = lines.join("\n");
    let replaced = [
        ("/tmp/", format!("{}/", folder.display())),
        ("/etc/tls/proxy.pem", file("localhost.pem")),
        ("/etc/tls/proxy.key", file("localhost.key")),
        ("/etc/tls/devices.pem", file("authority.pem")),
        ("/dev/stdout", "off".to_owned()),
        ("error_log stderr", "error_log error.log".to_owned()),
        ("listen 8443", format!("listen 127.0.0.1:{}", ports.port)),
        // Few, and for as long as the test takes: a busy machine needs seconds for dozens of handshakes.
        ("limit_conn addresses 64", format!("limit_conn addresses {ADMITTED}")),
        ("client_body_timeout 10s", "client_body_timeout 300s".to_owned()),
        (&format!("{service}.example"), NAME.to_owned()),
    ];
    replaced.iter().fold(text, |text, (from, to)| {
        assert!(text.contains(from) || *from == "/etc/tls/devices.pem", "{from}");
        text.replace(from, to)
    })
}

/// A connection that asks for `name` in the handshake; `None` when it is refused.
fn connected(nginx: &Nginx, name: &str) -> Option<Tls> {
    let mut authorities = RootCertStore::empty();
    authorities
        .add(CertificateDer::from_pem_file(testkit::tls::folder().join("authority.pem")).unwrap())
        .unwrap();
    let config = ClientConfig::builder().with_root_certificates(authorities).with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut session = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(("127.0.0.1", nginx.http1_port())).unwrap();
    while session.is_handshaking() {
        session.complete_io(&mut socket).ok()?;
    }
    Some(StreamOwned::new(session, socket))
}

/// The status of the response to a request.
fn status(connection: &mut Tls, request: &str) -> u16 {
    connection.write_all(request.as_bytes()).unwrap();
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && connection.read(&mut byte).unwrap_or(0) == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{head:?}"))
}

fn get(path: &str, host: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_proxy_answers_for_one_name_and_bounds_the_requests_of_an_address() {
    let server = Server::start().await;
    let nginx = proxy("proxy/challenge.conf", "challenge", server.running.addresses.http.unwrap());
    let goals = "/challenge/v1/challenges";
    let direct = server.player("").get(goals).await.0.as_u16();
    let walk = move || {
        // No request of this name is answered, with or without a handshake for the right one.
        assert!(connected(&nginx, "challenge.invalid").is_none());
        let mut connection = connected(&nginx, NAME).unwrap();
        assert_eq!(status(&mut connection, &get(goals, "challenge.invalid")), 421);

        let mut connection = connected(&nginx, NAME).unwrap();
        assert_eq!(status(&mut connection, &get(goals, NAME)), direct);

        // What has begun to send a request and does not go on counts.
        let unfinished = format!("POST {goals} HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 10\r\n\r\n");
        let held: Vec<Tls> = (0..ADMITTED)
            .map(|_| {
                let mut connection = connected(&nginx, NAME).unwrap();
                connection.write_all(unfinished.as_bytes()).unwrap();
                connection
            })
            .collect();
        let becomes = |expected: u16| {
            peers::poll::until(Duration::from_secs(60), || {
                status(&mut connected(&nginx, NAME).unwrap(), &get(goals, NAME)) == expected
            })
        };
        assert!(becomes(429), "as many requests as are admitted are in progress");
        drop(held);
        assert!(becomes(direct), "none is in progress");
    };
    tokio::task::spawn_blocking(walk).await.unwrap();
    server.stop().await;
}

#[test]
fn the_gateways_proxy_asks_devices_for_a_certificate() {
    let nginx = proxy("proxy/gateway.conf", "gateway", SocketAddr::from(([127, 0, 0, 1], 9)));
    let mut connection = connected(&nginx, NAME).unwrap();
    assert_eq!(
        status(&mut connection, "POST /telemetry HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"),
        400
    );
}

#[test]
fn the_listings_proxy_starts() {
    let nginx = proxy("proxy/listings.conf", "listings", SocketAddr::from(([127, 0, 0, 1], 9)));
    assert!(connected(&nginx, NAME).is_some());
    assert!(connected(&nginx, "listings.invalid").is_none());
}
