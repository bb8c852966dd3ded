//! Whether a port that was addressed in cleartext speaks TLS, or another version of HTTP.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::time::Duration;

use evidence::{Exemplar, Outcome};
use wire::WireError;
use workload::address::{authority_of, scheme_of};
use workload::connection::Scheme;

use super::exchange::connect_to_any;

/// How long the port may take to answer.
const LIMIT: Duration = Duration::from_secs(1);

/// A ClientHello of TLS 1.2 with one cipher suite and no extensions (RFC 5246, section 7.4.1.2): a server of TLS answers
/// it, at least with an alert.
const CLIENT_HELLO: [u8; 50] = {
    let mut hello = [0; 50];
    // A handshake record of 45 bytes.
    (hello[0], hello[1], hello[2], hello[4]) = (0x16, 3, 1, 45);
    // A ClientHello of 41 bytes, version 3.3; then 32 bytes of random and no session.
    (hello[5], hello[8], hello[9], hello[10]) = (1, 41, 3, 3);
    // One suite, and the compression `null`.
    (hello[45], hello[46], hello[47], hello[48]) = (2, 0x00, 0x2f, 1);
    hello
};
/// What records of TLS begin with: an alert, a handshake.
const RECORDS: [u8; 2] = [0x15, 0x16];

/// What to write instead of the URL of an exchange that a server of TLS may have broken off.
pub(crate) fn hint(exchange: &Exemplar) -> Option<String> {
    if !matches!(exchange.outcome, Outcome::Reset | Outcome::Protocol) || exchange.status.is_some() {
        return None;
    }
    let (Scheme::Http, rest) = scheme_of(exchange.request.split(' ').nth(1)?)? else { return None };
    let authority = rest.split(['/', '?']).next()?;
    if exchange.detail == WireError::NotHttp2.to_string() {
        return Some(
            "load it over HTTP/1.1: without `--http2`, or by `http = \"1.1\"` in the plan's target"
                .to_owned(),
        );
    }
    if exchange.detail == WireError::NotHttp1.to_string() {
        return Some(format!(
            "gRPC is loaded by `plimsoll grpc {authority}`; HTTP/2 with `--http2`, or by `http = \"2\"` in the plan's target"
        ));
    }
    speaks_tls(authority)
        .then(|| format!("this port speaks TLS: write `https://{authority}` instead of `http://`"))
}

/// Whether what listens there answers a handshake.
pub(crate) fn speaks_tls(authority: &str) -> bool {
    answer(authority).is_ok_and(|first| RECORDS.contains(&first))
}

/// The first byte of the answer to a handshake.
fn answer(authority: &str) -> anyhow::Result<u8> {
    let (host, port) =
        authority_of(authority, Some(Scheme::Http.default_port())).map_err(|wrong| anyhow::anyhow!(wrong))?;
    let addresses: Vec<SocketAddr> = (host.as_str(), port).to_socket_addrs()?.collect();
    let stream = connect_to_any(&addresses, LIMIT)?;
    let mut stream = stream.ok_or_else(|| anyhow::anyhow!("{host} has no address"))?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    stream.write_all(&CLIENT_HELLO)?;
    let mut first = [0];
    stream.read_exact(&mut first)?;
    Ok(first[0])
}
