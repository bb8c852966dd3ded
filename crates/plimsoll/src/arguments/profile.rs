//! The command line of `profile`.

use std::path::PathBuf;

use clap::Args;

pub(crate) const PROFILE_EXAMPLES: &str = "\
Examples:
  plimsoll profile cpu.pb.gz                      functions by their own cost
  plimsoll profile heap.pb.gz --type alloc_space --sort cum --top 40
  plimsoll profile heap.pb.gz --since earlier.pb.gz   what was added between the two
  plimsoll profile cpu.pb.gz --tree --focus 'encoding/json'
  plimsoll profile cpu.pb.gz --flame cpu.html     a self-contained flame graph
  plimsoll profile new.pb.gz --base old.pb.gz --requests 30000 --base-requests 29800";

#[derive(Debug, Args)]
pub(crate) struct ProfileArguments {
    /// A profile in pprof's format, compressed by gzip or not
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Compare with this one: what changed by more than sampling explains
    #[arg(long, value_name = "FILE")]
    pub(crate) base: Option<PathBuf>,
    /// Subtract this earlier profile of the same process, for what counts from its start (heap, mutex, block)
    #[arg(long, value_name = "FILE")]
    pub(crate) since: Option<PathBuf>,
    /// Subtract this earlier profile from the baseline
    #[arg(long, value_name = "FILE", requires = "base")]
    pub(crate) base_since: Option<PathBuf>,
    /// Sample type by name or number [default: the profile's own default, else its last]
    #[arg(long = "type", value_name = "NAME")]
    pub(crate) sample_type: Option<String>,
    /// Only stacks with a function, source file or binary that matches
    #[arg(long, value_name = "REGEX")]
    pub(crate) focus: Option<String>,
    /// How many functions to list
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) top: u32,
    /// What to order functions by
    #[arg(long, value_enum, default_value_t = SortBy::Flat)]
    pub(crate) sort: SortBy,
    /// Print the call tree instead of the list of functions
    #[arg(long, conflicts_with = "base")]
    pub(crate) tree: bool,
    /// Successful requests while the profile was taken: costs are compared per request
    #[arg(long, value_name = "NUMBER", requires = "base_requests", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Successful requests while the baseline was taken
    #[arg(long, value_name = "NUMBER", requires_all = ["base", "requests"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) base_requests: Option<u64>,
    /// Write a flame graph as one self-contained HTML file; with --base coloured by the difference
    #[arg(long, value_name = "FILE")]
    pub(crate) flame: Option<PathBuf>,
    /// Write everything as JSON; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

/// What functions are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SortBy {
    /// Their own cost
    Flat,
    /// Their cost with their callees
    Cum,
}
