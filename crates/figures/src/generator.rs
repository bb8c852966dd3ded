//! What the generator counted of itself and of its connections.

use evidence::Histogram;

/// Numbers of the generator itself.
#[derive(Debug, Default)]
pub struct GeneratorFigures {
    /// Actual start − due instant of what it began.
    pub start_lag: Histogram,
    /// How long one turn of a loop took.
    pub loop_stall: Histogram,
    /// Bytes received; none where they were not counted.
    pub bytes_in: Option<u64>,
    /// Bytes sent; none where they were not counted.
    pub bytes_out: Option<u64>,
    /// Requests that were under way during a stall, or until what was in flight was back at its number before.
    pub perturbed_requests: u64,
}

/// How long opening the connections to one target took.
#[derive(Debug, Default)]
pub struct ConnectionTimes {
    /// The time until a connection was established.
    pub connecting: Histogram,
    /// From there to the end of its TLS handshake.
    pub tls_handshaking: Histogram,
}
