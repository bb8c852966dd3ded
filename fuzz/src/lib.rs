//! Every parser of the tool, with mutated input.
//!
//! A [`Target`] takes any bytes. It panics when the parser does, or when the result breaks a rule that applies to all
//! input: a stream that is cut at other points has the same meaning; a decoded value is encoded to the same bytes.
//! Inputs are made from seeds by [`mutation`](mutate::Mutator), as a function of one number, so that a finding can be
//! reproduced. Tests run each target with a fixed number of inputs; `cargo run --release -p fuzz` runs any number. A case
//! also fails when it takes more memory or time than it may; inputs that once failed are in `corpus/` and come first.

mod case;
mod cluster;
mod corpus;
mod draft;
mod import;
mod k6_script;
mod literal;
mod meter;
mod metrics;
pub mod mutate;
mod network;
mod peer;
mod plan;
mod profile;
mod run_file;
mod stored;

pub use case::{Case, MOST_CPU, run_case};
pub use corpus::corpus;

#[global_allocator]
static ALLOCATOR: meter::Metered = meter::Metered;

/// A parser under test.
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Valid inputs, which are mutated.
    pub seeds: &'static [&'static [u8]],
    /// Words of the grammar, which are inserted into inputs.
    pub words: &'static [&'static [u8]],
    /// Parses an input and returns whether it was valid; panics on a finding.
    pub run: fn(&[u8]) -> bool,
    /// The most memory that a case may take at once, beside its input.
    pub most_bytes: usize,
    /// It gets one of so many inputs: a case takes so much longer than those of other parsers.
    pub one_of: u64,
}

impl Target {
    pub(crate) const BASE: Target =
        Target { name: "", seeds: &[], words: &[], run: |_| false, most_bytes: 32 << 20, one_of: 1 };
}

pub const TARGETS: &[Target] = &[
    metrics::METRICS,
    peer::HTTP1,
    peer::HTTP2,
    peer::WEBSOCKET,
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
    draft::DRAFT,
    literal::LITERAL,
    import::IMPORT,
    k6_script::OPTIONS,
    k6_script::URL,
    k6_script::COOKIE,
    k6_script::CHALLENGE,
    k6_script::SELECTOR,
    k6_script::HTML,
    k6_script::CSV,
    k6_script::SHARED_HEAP,
    profile::PROFILE,
    network::PROXY,
    network::CODING,
    network::REFLECTION,
    stored::HISTOGRAM,
    cluster::FRAMES,
    cluster::TICK,
    run_file::RUN_FILE,
];
