//! The options of `plimsoll new`.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  plimsoll new http://127.0.0.1:8000/items        a plan of one URL, in plan.toml
  plimsoll new openapi.yaml -o api.toml           of an OpenAPI 3 description: what only reads, a step each
  plimsoll new openapi.json --server http://127.0.0.1:8000 --all
  plimsoll new session.har                        of a recording of a browser: requests in order, with the pauses
  PASSWORD=… plimsoll new session.har --verify    the same, and each step is sent once
  plimsoll new curl -X POST http://127.0.0.1:8000/items -d '{\"id\": 7}'
  plimsoll new commands.txt                       of a file of curl commands; `-` is standard input";

/// What a plan is made of, and where it goes.
#[derive(Debug, Args)]
pub(crate) struct NewArguments {
    /// A URL, the file of an OpenAPI description, a HAR file, a file of curl commands, or a curl command: all
    /// words after `curl` belong to it
    #[arg(required = true, num_args = 1.., value_name = "SOURCE")]
    pub(crate) source: Vec<String>,
    /// The plan to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "plan.toml")]
    pub(crate) output: PathBuf,
    /// Replace the plan if it exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Make steps of all requests: of a description those that write too, of a recording static files and other sites
    #[arg(long)]
    pub(crate) all: bool,
    /// Send each step once, and take values of a recording from other places until each status is the recorded one: for
    /// targets that may be called; the environment variables that the plan names must be set
    #[arg(long)]
    pub(crate) verify: bool,
    /// The address of the server that an OpenAPI description describes
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
}
