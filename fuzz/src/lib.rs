//! Every parser of the tool, fed with what nobody would send.
//!
//! A [`Target`] takes any bytes and panics when the parser does, or when what it says breaks a rule that holds for all
//! input: cut elsewhere, a stream means the same; what was decoded is encoded to the same. Inputs come from seeds by
//! [`mutation`](mutate::Mutator), as a function of one number, so that a finding can be had again. Tests feed each
//! target a fixed number; `cargo run --release -p fuzz` goes on for as long as it is let.

mod import;
mod metrics;
pub mod mutate;
mod network;
mod peer;
mod plan;
mod profile;
mod stored;

/// A parser under fire.
pub struct Target {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Inputs that make sense, to begin from.
    pub seeds: &'static [&'static [u8]],
    /// Words that the grammar knows; they are put into inputs.
    pub words: &'static [&'static [u8]],
    /// Takes an input and tells whether the parser could make sense of it; panics on a finding.
    pub run: fn(&[u8]) -> bool,
}

/// All of them.
pub const TARGETS: &[Target] = &[
    metrics::METRICS,
    peer::HTTP1,
    peer::HTTP2,
    peer::GRPC_MESSAGES,
    peer::GRPC_STATUS,
    plan::PLAN,
    plan::TEMPLATE,
    plan::OBJECTIVE,
    plan::CSV,
    plan::JSON_ROWS,
    plan::PATTERN,
    plan::PROTO,
    plan::LIST,
    import::IMPORT,
    profile::PROFILE,
    network::PROXY,
    network::CODING,
    network::REFLECTION,
    stored::HISTOGRAM,
];
