//! Before the load: every target must be reachable and ready.

mod exchange;
pub(crate) mod scheme;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use engine::program::{ClientConfig, OriginAddress, Program};
use evidence::GrpcCode;
use wire::{Connection, Event, Headers, Request, Scheme, WireProtocol};
use workload::address::{authority_of, scheme_of};
use workload::connection::{Connecting, Scheme as UrlScheme};
use workload::model::{ReadyProbe, WaitReady};
use workload::observation::filled;
use workload::redact::shown_address;

use crate::environment::Environment;
use crate::failure::{CommandResult, Failure, Unreachable};
use crate::screen::note;
use exchange::{Peer, Stream, connect_to_any};

const PROBE_INTERVAL: Duration = Duration::from_millis(200);
const ATTEMPT_LIMIT: Duration = Duration::from_secs(2);
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(250);
/// More of the response to a probe by URL is read, but not kept; more of one by gRPC is an error.
const KEPT_BODY_BYTES: usize = 4096;

/// Wait until every target with a readiness check passes it, then check that all can be reached. The message about one
/// that cannot ends with `address_hint`.
pub(crate) fn wait(program: &Program, address_hint: fn(&str) -> String) -> CommandResult<()> {
    for (name, target) in &program.workload().targets {
        for from in &target.connecting.local_addresses {
            check_local_address(*from).with_context(|| format!("target `{name}`")).map_err(Failure::usage)?;
        }
        if let Some(wait) = &target.wait_ready {
            let (connecting, env) = (&target.connecting, program.env());
            let prober = Prober { connecting, tls: program.tls(name), env };
            prober.wait_for(wait).with_context(|| format!("target `{name}`")).map_err(Failure::usage)?;
        }
    }
    for (name, place) in program.origins() {
        reach(place).map_err(|(at, error)| {
            let hint = address_hint(name);
            let target = program.workload().targets.get(name);
            let is_proxied = target.is_some_and(|target| target.connecting.proxy.is_some());
            let proxy = if is_proxied { ", its proxy" } else { "" };
            let error = error.to_string();
            // Its number says nothing to a reader.
            let error = error.split(" (os error").next().unwrap_or_default();
            let text = match at {
                Place::Tcp(at) => {
                    format!("target `{name}`: nothing answers at {at}{proxy} ({error}); start it{hint}")
                }
                Place::Unix(path) => format!("target `{name}`: {}", no_socket(&path, error)),
            };
            Failure::Usage(anyhow::Error::msg(Unreachable(text)))
        })?;
    }
    Ok(())
}

/// Check that connections can be made from this address.
fn check_local_address(from: IpAddr) -> anyhow::Result<()> {
    match UdpSocket::bind((from, 0)) {
        Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
            bail!("{from} is not an address of this machine: no connection can be made from it")
        }
        result => result.map(drop).with_context(|| format!("no connection can be made from {from}")),
    }
}

/// Why a Unix socket takes no connection, and what to do.
fn no_socket(path: &Path, error: &str) -> String {
    let shown = path.display();
    match fs::metadata(path) {
        Err(_) => format!("there is no socket {shown}: start the target, or check the path ({error})"),
        Ok(found) if !found.file_type().is_socket() => format!("{shown} is not a socket: check the path"),
        Ok(_) => format!("nothing listens on the socket {shown} ({error}): start the target"),
    }
}

/// Where a connection is made to.
enum Place {
    Tcp(String),
    Unix(PathBuf),
}

/// Check that a connection is accepted there; else the address and the reason.
fn reach(place: OriginAddress) -> Result<(), (Place, std::io::Error)> {
    match place {
        OriginAddress::Tcp(addresses) => {
            let at = || Place::Tcp(addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
            connect_to_any(&addresses, ATTEMPT_LIMIT).map(drop).map_err(|error| (at(), error))
        }
        OriginAddress::Unix(path) => {
            UnixStream::connect(&path).map(drop).map_err(|error| (Place::Unix(path), error))
        }
    }
}

/// Drive a connection over a blocking socket until its one request is answered.
fn exchange(
    connection: &mut dyn Connection,
    peer: &Peer<'_>,
    limit: Duration,
    kept: KeptBody,
) -> anyhow::Result<ProbeResponse> {
    let until = Instant::now() + limit;
    let mut stream = Stream::connect(peer, limit)?;
    let mut answer = ProbeResponse { kept, ..ProbeResponse::default() };
    let mut buffer = [0; 4096];
    while !answer.is_done {
        while !connection.outgoing().is_empty() {
            let sent = stream.write(connection.outgoing())?;
            connection.sent(sent);
        }
        let left = until.saturating_duration_since(Instant::now());
        ensure!(!left.is_zero(), "its response is not complete");
        stream.set_limit(left)?;
        let n = match stream.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => bail!("its response is not complete"),
            read => read?,
        };
        let mut take = |event: Event<'_>| answer.take(event);
        match n {
            0 => connection.closed(&mut take)?,
            n => connection.receive(&buffer[..n], &mut take)?,
        };
        if let Some(error) = answer.failure {
            return Err(error.into());
        }
        if let KeptBody::AtMost(bytes) = answer.kept {
            ensure!(!answer.is_cut, "its answer is longer than {bytes} bytes");
        }
        ensure!(n > 0 || answer.is_done, "it closes the connection without a response");
    }
    Ok(answer)
}

/// Sends single requests to a target before the load, over connections like those that the load will use.
pub(crate) struct Prober<'a> {
    pub(crate) connecting: &'a Connecting,
    pub(crate) tls: Option<&'a Arc<ClientConfig>>,
    /// The values that a probe's URL leaves out.
    pub(crate) env: &'a Environment,
}

impl Prober<'_> {
    pub(crate) fn wait_for(&self, wait: &WaitReady) -> anyhow::Result<()> {
        let began = Instant::now();
        let mut is_reported = false;
        loop {
            let left = wait.within.saturating_sub(began.elapsed());
            let reason = match self.probe(&wait.probe, left.clamp(SHORTEST_ATTEMPT, ATTEMPT_LIMIT)) {
                Ok(()) => return Ok(()),
                Err(reason) => reason,
            };
            let waited = began.elapsed();
            if waited + PROBE_INTERVAL > wait.within {
                return Err(reason.context(format!(
                    "not ready within {:?}: {}",
                    wait.within,
                    describe(&wait.probe)
                )));
            }
            if waited > Duration::from_secs(2) && !is_reported {
                note(format_args!("waiting up to {:?} for {}", wait.within, describe(&wait.probe)));
                is_reported = true;
            }
            std::thread::sleep(PROBE_INTERVAL);
        }
    }

    fn probe(&self, probe: &ReadyProbe, limit: Duration) -> anyhow::Result<()> {
        match probe {
            ReadyProbe::Url(url) => self.probe_url(&filled(url, self.env), limit),
            ReadyProbe::GrpcHealth { scheme, authority, service } => {
                self.probe_grpc(Origin { scheme: *scheme, authority }, service, limit)
            }
        }
    }

    fn peer(&self, scheme: UrlScheme, authority: &str) -> anyhow::Result<Peer<'_>> {
        let (host, port) = authority_of(authority, Some(scheme.default_port())).map_err(|e| anyhow!(e))?;
        let tls = match scheme {
            UrlScheme::Http => None,
            UrlScheme::Https => Some(self.tls.ok_or_else(|| anyhow!("it has no TLS settings"))?.clone()),
        };
        Ok(Peer { host, port, tls, connecting: self.connecting })
    }

    fn probe_url(&self, url: &str, limit: Duration) -> anyhow::Result<()> {
        let (scheme, rest) =
            scheme_of(url).ok_or_else(|| anyhow!("`{}` is not a URL", shown_address(url)))?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
        let peer = self.peer(scheme, authority)?;
        let request = Request {
            method: b"GET",
            path: path.as_bytes(),
            authority: authority.as_bytes(),
            scheme: wire_scheme(scheme),
            headers: &Headers::new(),
            body: b"",
        };
        let mut connection = wire::open(WireProtocol::Http1);
        connection.start(0, &request)?;
        let answer = exchange(&mut *connection, &peer, limit, KeptBody::Beginning)?;
        ensure!((200..300).contains(&answer.status), "it answers {}", answer.status);
        Ok(())
    }

    fn probe_grpc(&self, origin: Origin<'_>, service: &str, limit: Duration) -> anyhow::Result<()> {
        let call = Call {
            path: "/grpc.health.v1.Health/Check",
            body: &health_request(service)?,
            limit,
            most_bytes: KEPT_BODY_BYTES,
        };
        let answer = self.call(origin, &call)?;
        if let Some(code) = answer.code().filter(|code| *code != GrpcCode::OK) {
            bail!("it answers {code}");
        }
        // HealthCheckResponse { status = 1: enum }, where SERVING is 1.
        let message = wire::grpc::single_message(&answer.body)?;
        ensure!(message == [0x08, 0x01], "its health status is not SERVING");
        Ok(())
    }

    /// Make one gRPC call over a connection of its own.
    pub(crate) fn call(&self, origin: Origin<'_>, call: &Call<'_>) -> anyhow::Result<ProbeResponse> {
        let Origin { scheme, authority } = origin;
        let mut peer = self.peer(scheme, authority)?;
        peer.require_http2();
        let mut headers = Headers::new();
        wire::grpc::push_headers(&mut headers, None);
        let request = Request {
            method: b"POST",
            path: call.path.as_bytes(),
            authority: authority.as_bytes(),
            scheme: wire_scheme(scheme),
            headers: &headers,
            body: call.body,
        };
        let mut connection = wire::open(WireProtocol::Http2);
        connection.start(0, &request)?;
        exchange(&mut *connection, &peer, call.limit, KeptBody::AtMost(call.most_bytes))
    }
}

/// Where a gRPC server is.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) scheme: UrlScheme,
    pub(crate) authority: &'a str,
}

/// One gRPC call.
pub(crate) struct Call<'a> {
    pub(crate) path: &'a str,
    /// Framed messages, all that are sent.
    pub(crate) body: &'a [u8],
    /// How long it may take.
    pub(crate) limit: Duration,
    /// The longest response; a longer one is an error.
    pub(crate) most_bytes: usize,
}

fn describe(probe: &ReadyProbe) -> String {
    match probe {
        ReadyProbe::Url(url) => shown_address(url),
        ReadyProbe::GrpcHealth { authority, .. } => format!("gRPC health at {authority}"),
    }
}

/// How much of a body is kept.
#[derive(Default, Clone, Copy)]
enum KeptBody {
    /// So much from its beginning; the rest is read, and not kept.
    #[default]
    Beginning,
    /// All of it; a longer one than this is an error.
    AtMost(usize),
}

/// The response to a probe or call.
#[derive(Default)]
pub(crate) struct ProbeResponse {
    status: u16,
    headers: Headers,
    pub(crate) body: Vec<u8>,
    kept: KeptBody,
    /// Whether there was more of the body than is kept.
    is_cut: bool,
    is_done: bool,
    failure: Option<wire::WireError>,
}

impl ProbeResponse {
    /// The status of a gRPC call, if it has one.
    pub(crate) fn code(&self) -> Option<GrpcCode> {
        wire::grpc::Status::from_trailers(&self.headers.view()).map(|status| status.code)
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Head { head, .. } => {
                self.status = head.status;
                self.headers.clear();
                head.headers.iter().for_each(|(name, value)| self.headers.push(name, value));
            }
            Event::Body { chunk, .. } => {
                let most = match self.kept {
                    KeptBody::Beginning => KEPT_BODY_BYTES,
                    KeptBody::AtMost(bytes) => bytes,
                };
                let left = most.saturating_sub(self.body.len());
                self.is_cut |= chunk.len() > left;
                self.body.extend_from_slice(&chunk[..chunk.len().min(left)]);
            }
            Event::Trailers { headers, .. } => {
                headers.iter().for_each(|(name, value)| self.headers.push(name, value));
            }
            Event::Done { .. } => self.is_done = true,
            Event::Failed { error, .. } => self.failure = Some(error),
        }
    }
}

/// `HealthCheckRequest { service = 1: string }`, framed.
fn health_request(service: &str) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    let start = wire::grpc::begin_message(&mut body);
    if !service.is_empty() {
        let length = u8::try_from(service.len()).ok().filter(|length| *length < 128);
        let length = length.ok_or_else(|| anyhow!("the service's name is longer than 127 bytes"))?;
        body.extend_from_slice(&[0x0a, length]);
        body.extend_from_slice(service.as_bytes());
    }
    wire::grpc::end_message(&mut body, start);
    Ok(body)
}

fn wire_scheme(scheme: UrlScheme) -> Scheme {
    match scheme {
        UrlScheme::Http => Scheme::Http,
        UrlScheme::Https => Scheme::Https,
    }
}
