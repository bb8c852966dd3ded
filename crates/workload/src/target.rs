//! Targets: the systems under test, how they are reached, and when they are ready.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::address::{Origin, Scheme, authority_of, is_visible_ascii, scheme_of, wrong_address};
use crate::connection::Connecting;
use crate::observation::Observation;

/// A system under test.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Target {
    /// For HTTP: its origin and base path.
    pub http: Option<HttpOrigin>,
    /// For gRPC: its origin, and the files that describe it.
    pub grpc: Option<GrpcOrigin>,
    /// The process whose CPU and memory is observed.
    pub process: Option<ProcessRef>,
    /// The readiness probe that must succeed before the load begins.
    pub wait_ready: Option<WaitReady>,
    /// How connections to it are made.
    #[serde(default, skip_serializing_if = "Connecting::is_default")]
    pub connecting: Connecting,
    /// What is observed of it besides its process.
    #[serde(default, skip_serializing_if = "Observation::is_empty")]
    pub observe: Observation,
    /// Whether each virtual user stores the cookies that it sets, and sends them back.
    #[serde(default)]
    pub cookies: bool,
    /// Whether an iteration begins without the cookies that iterations before it were sent. Those that the setup of its
    /// virtual user was sent stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh_cookies: bool,
}

/// The origin of an HTTP target, and the path that all of its URLs begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpOrigin {
    /// Under TLS or not.
    #[serde(default)]
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path prefix without a trailing slash; may be empty.
    pub base_path: String,
}

impl HttpOrigin {
    /// Read `http://host:port/path`, or the same with `https`.
    ///
    /// # Errors
    /// A message, if the text is no such URL.
    pub fn parse(text: &str) -> Result<HttpOrigin, String> {
        let (scheme, rest) = scheme_of(text)
            .ok_or_else(|| wrong_address(text, "is not a URL; write `http://host:port/path`"))?;
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        // The part up to a `/` may be the beginning of a password.
        let (host, port) = authority_of(authority, Some(scheme.default_port())).map_err(|why| {
            if text.contains('@') { wrong_address(text, "has no host and port") } else { why }
        })?;
        if path.contains(['?', '#', '$']) || !is_visible_ascii(path) {
            let why =
                "is not an address of a target: its path ends before `?` and `#` and has no blanks or `$`";
            return Err(wrong_address(text, why));
        }
        Ok(HttpOrigin { scheme, host, port, base_path: path.trim_end_matches('/').to_owned() })
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> Origin {
        Origin { scheme: self.scheme, host: self.host.clone(), port: self.port }
    }
}

/// The origin of a gRPC target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrpcOrigin {
    /// Under TLS or not.
    #[serde(default)]
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Files that describe its services, relative to the plan's folder; empty: the run uses server reflection.
    pub proto: Vec<String>,
}

impl GrpcOrigin {
    /// `HOST:PORT` as in a URL.
    pub fn authority(&self) -> String {
        self.origin().authority()
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> Origin {
        Origin { scheme: self.scheme, host: self.host.clone(), port: self.port }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessRef {
    /// By its id.
    Pid(u32),
    /// The process that listens on this TCP port of this machine.
    Port(u16),
}

/// A readiness probe that is repeated until it succeeds, before the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitReady {
    pub probe: ReadyProbe,
    /// The time limit of all attempts together.
    pub within: Duration,
}

/// How readiness is probed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadyProbe {
    /// GET this URL until the status is 200 to 299.
    Url(String),
    /// Call `grpc.health.v1.Health/Check` at this host and port until the status is SERVING.
    GrpcHealth {
        /// Under TLS or not.
        #[serde(default)]
        scheme: Scheme,
        /// Host and port.
        authority: String,
        /// The service in question; empty for the server as a whole.
        service: String,
    },
}
