//! The options of `plimsoll http` and `plimsoll grpc`. Short ones are those of other generators, so that familiar
//! command lines work; long ones are descriptive.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use workload::http::MAX_REDIRECTS;
use workload::{Arrivals, CancelAfter, units};

use super::{ConnectArguments, RunOptionArguments, run_file};

pub(super) const HTTP_EXAMPLES: &str = "\
Examples:
  plimsoll http http://127.0.0.1:8000/              200 requests, 50 at a time; `http` may be left out
  plimsoll http 127.0.0.1:8000/ -c 64 -z 30s        64 at a time, each answer followed by the next request
  plimsoll http 127.0.0.1:8000/ -r 300 -z 30s       300 a second, however slow the answers are
  plimsoll http 127.0.0.1:8000/users -m POST -T application/json -d '{\"id\": \"${uuid()}\"}' -n 10000
  plimsoll http 127.0.0.1:8000/ -r 300 --ramp 10s -z 1m -o run.plimsoll --html report.html";

pub(super) const GRPC_EXAMPLES: &str = "\
Examples:
  plimsoll grpc 127.0.0.1:6565 demo.Echo/Say --proto echo.proto -d '{\"text\": \"hello\"}'
  plimsoll grpc 127.0.0.1:6565 demo.Echo/Say -r 500 -z 30s
  plimsoll grpc 127.0.0.1:6565 demo.Echo/Say -c 64 --connections 8 -z 30s
  plimsoll grpc 127.0.0.1:6565 demo.Echo/Say -H 'authorization: Bearer ${env.TOKEN}'
  plimsoll grpc 127.0.0.1:6565 demo.Echo/Say --once";

/// How much is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct PaceArguments {
    /// Total number of requests, such as 500 or 10k [default: 200, unless -z, -r or --ramp says how long]
    #[arg(short = 'n', long, value_name = "NUMBER", value_parser = count::<u64>, allow_hyphen_values = true)]
    pub(crate) requests: Option<u64>,
    /// Duration, such as 30s or 1m30s, after the ramp; with -n whichever ends first [default: 10s with -r or
    /// --ramp; -n ends after 10m at the latest]
    #[arg(short = 'z', long, value_name = "DURATION", value_parser = units::duration, allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Requests due a second, whatever the target does: an open model
    #[arg(short = 'r', long, value_name = "RATE", value_parser = rate, allow_hyphen_values = true)]
    pub(crate) rate: Option<f64>,
    /// Ramp up from zero within this time, which is reported as a phase of its own
    #[arg(long, value_name = "DURATION", value_parser = units::duration, allow_hyphen_values = true)]
    pub(crate) ramp: Option<Duration>,
    /// How requests of a rate are spaced: even, or poisson (at random, like independent users)
    #[arg(long, value_name = "SPACING", default_value = "even", value_parser = arrivals, hide_short_help = true)]
    pub(crate) arrivals: Arrivals,
    /// Seed of every random choice
    #[arg(long, value_name = "NUMBER", default_value_t = 1, hide_short_help = true)]
    pub(crate) seed: u64,
}

/// What is kept of an ad-hoc run.
#[derive(Debug, Args)]
#[command(next_help_heading = "Evidence and reports")]
pub(crate) struct KeepArguments {
    /// Keep the evidence in this run file [default: it is deleted after the verdict]
    #[arg(short, long, value_name = "FILE", value_parser = run_file)]
    pub(crate) output: Option<PathBuf>,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// An objective to judge the run by, such as 'p95 < 50ms'; repeatable [default: none, the verdict is MEASURED]
    #[arg(long = "objective", alias = "ask", value_name = "OBJECTIVE")]
    pub(crate) objectives: Vec<String>,
    #[command(flatten)]
    pub(crate) options: RunOptionArguments,
}

#[derive(Debug, Args)]
pub(crate) struct HttpArguments {
    /// The URL, such as http://127.0.0.1:8000/path; path, query, headers and body may contain values like ${uuid()},
    /// ${random(1, 100)} and ${iteration}
    #[arg(required_unless_present = "targets")]
    pub(crate) url: Option<String>,
    /// Send the requests of a list in order instead of one URL: vegeta's format, text or JSON; `-` is standard input.
    /// Without -n, -z, -r and --ramp each is sent once
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "method"])]
    pub(crate) targets: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pace: PaceArguments,
    /// Requests in flight at once, each on its own connection: a closed model; with -r the maximum
    /// [default: 50; with -r as many as the rate needs, at most 10000]
    #[arg(short = 'c', long, value_name = "NUMBER", help_heading = "Load", value_parser = count::<u32>, allow_hyphen_values = true)]
    pub(crate) connections: Option<u32>,
    /// Requests in flight at once on each connection; requires --http2
    #[arg(short = 'p', long, value_name = "NUMBER", help_heading = "Load", requires = "http2",
        value_parser = clap::value_parser!(u32).range(1..=10_000), hide_short_help = true)]
    pub(crate) parallel: Option<u32>,
    #[command(flatten)]
    pub(crate) request: RequestArguments,
    /// Use HTTP/2; in cleartext with prior knowledge [default: what ALPN negotiates, else HTTP/1.1]
    #[arg(long, help_heading = "Connections")]
    pub(crate) http2: bool,
    /// Make a new connection for each request
    #[arg(long, help_heading = "Connections", hide_short_help = true)]
    pub(crate) disable_keepalive: bool,
    #[command(flatten)]
    pub(crate) connect: ConnectArguments,
    #[command(flatten)]
    pub(crate) keep: KeepArguments,
}

/// What is sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Request")]
pub(crate) struct RequestArguments {
    /// The method [default: GET, or POST with a body]
    #[arg(short, long, visible_short_alias = 'X', value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A header, such as 'x-id: 7'; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// The body
    #[arg(short = 'd', long, value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,
    /// Read the body from this file, unchanged
    #[arg(short = 'D', long, value_name = "FILE", hide_short_help = true)]
    pub(crate) body_file: Option<PathBuf>,
    /// The header content-type
    #[arg(short = 'T', long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The header accept
    #[arg(short = 'A', long, value_name = "TYPE", hide_short_help = true)]
    pub(crate) accept: Option<String>,
    /// Basic authentication, best as 'user:${env.PASSWORD}': everyone on the machine can see command lines
    #[arg(short = 'u', visible_short_alias = 'a', long, value_name = "USER:PASSWORD")]
    pub(crate) basic_auth: Option<String>,
    /// Cookies, such as 'session=7; theme=dark'
    #[arg(short = 'b', long = "cookie", value_name = "COOKIES", hide_short_help = true)]
    pub(crate) cookies: Option<String>,
    /// Follow up to this many redirects on the URL's host, as one request [default: the redirect is the response]
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true,
        value_parser = clap::value_parser!(u32).range(0..=MAX_REDIRECTS as i64), hide_short_help = true)]
    pub(crate) redirects: u32,
    /// Follow redirects: as --redirects 10
    #[arg(short = 'L', long, conflicts_with = "redirects")]
    pub(crate) location: bool,
    /// Time limit of a response, from the instant its request was due
    #[arg(short, long, value_name = "DURATION", default_value = "30s", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct GrpcArguments {
    /// The address: HOST:PORT, or https://HOST:PORT for TLS
    pub(crate) address: String,
    /// The method: package.Service/Method [without one the methods of the server are listed]
    pub(crate) method: Option<String>,
    #[command(flatten)]
    pub(crate) pace: PaceArguments,
    /// Calls in flight at once: a closed model; with -r the maximum [default: 50; with -r as many as the
    /// rate needs, at most 10000]
    #[arg(short = 'c', long, value_name = "NUMBER", help_heading = "Load", value_parser = count::<u32>, allow_hyphen_values = true)]
    pub(crate) concurrency: Option<u32>,
    #[command(flatten)]
    pub(crate) call: CallArguments,
    #[command(flatten)]
    pub(crate) connect: ConnectArguments,
    #[command(flatten)]
    pub(crate) keep: KeepArguments,
}

/// What is called.
#[derive(Debug, Args)]
#[command(next_help_heading = "Call")]
pub(crate) struct CallArguments {
    /// The message as JSON; its strings may contain values like ${uuid()}. Several messages for a client stream: give
    /// the option again, or an array, or one message after another; `@FILE` reads them from a file, `@-` from standard
    /// input [default: {}]
    #[arg(short = 'd', long, value_name = "JSON|@FILE")]
    pub(crate) data: Vec<String>,
    /// Send all messages this many times on a client stream; 0 sends none [default: 1]
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) repeat: Option<u32>,
    /// Interval between sent messages, from the instant the call was due
    #[arg(long, value_name = "DURATION", value_parser = units::duration, hide_short_help = true)]
    pub(crate) every: Option<Duration>,
    /// Cancel a server stream after this many messages or this time since the call was due; not a failure
    #[arg(long, value_name = "NUMBER|DURATION", value_parser = cancel_after, hide_short_help = true)]
    pub(crate) cancel_after: Option<CancelAfter>,
    /// Metadata, such as 'x-id: 7'; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// A file that describes the service; repeatable: a .proto file, whose imports are searched in the folders
    /// above it [default: ask the target by server reflection]
    #[arg(long, value_name = "FILE")]
    pub(crate) proto: Vec<PathBuf>,
    /// The same as a descriptor set, as `protoc --descriptor_set_out --include_imports` and `buf build` write it
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) protoset: Vec<PathBuf>,
    /// Number of connections, spread over all addresses of the name: one connection
    /// reaches one replica
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) connections: u32,
    /// Time limit of a response, from the instant its call was due
    #[arg(short = 't', long, visible_alias = "timeout", value_name = "DURATION", default_value = "30s", value_parser = limit, allow_hyphen_values = true)]
    pub(crate) deadline: Duration,
}

/// A number: `500`, `10k`, `2M`.
fn count<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => text.strip_suffix('M').map_or((text, 1), |digits| (digits, 1_000_000)),
    };
    if text.contains(',') {
        return Err(format!("a number has no commas: write `{}`", text.replace(',', "")));
    }
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| "expected a whole number, such as 500, 10k or 2M".to_owned())
}

/// A rate: `300` a second, `10k`, `300/s`, `20/min`.
fn rate(text: &str) -> Result<f64, String> {
    if text.contains(',') {
        return Err(format!("a number has no commas: write `{}`", text.replace(',', "")));
    }
    if text.contains('/') {
        return units::rate(text);
    }
    let a_second = format!("{text}/s");
    units::rate(&a_second).map_err(|wrong| wrong.replacen(&a_second, text, 1))
}

fn arrivals(text: &str) -> Result<Arrivals, String> {
    match text {
        "even" => Ok(Arrivals::Even),
        "poisson" => Ok(Arrivals::Poisson),
        _ => Err("arrivals are `even` or `poisson`".to_owned()),
    }
}

fn cancel_after(text: &str) -> Result<CancelAfter, String> {
    match text.parse() {
        Ok(0) => Err("a stream is cancelled after one message at the earliest".to_owned()),
        Ok(messages) => Ok(CancelAfter::Messages(messages)),
        Err(_) => units::duration(text).map(CancelAfter::Time),
    }
}

fn limit(text: &str) -> Result<Duration, String> {
    let is_zero = text.parse() == Ok(0.0);
    match if is_zero { Duration::ZERO } else { units::duration(text)? } {
        Duration::ZERO => Err("a time limit is longer than 0; without this option it is 30s".to_owned()),
        limit => Ok(limit),
    }
}

pub(super) fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or_else(|| match text.split_once(' ') {
        // Its value may be secret.
        Some((name, _)) => format!("the header `{name}` has no colon: write it as '{name}: value'"),
        None => "it has no colon: write it as 'name: value'".to_owned(),
    })?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}
