//! Runs one target from arguments, prints its address, and ends by itself: for work by hand.

use std::error::Error;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use testbed::{Behaviour, CannedResponse, GrpcBehaviour, Outcome, Served, Site, Target};

/// Longest life of a target started by hand.
const LIFE_LIMIT: Duration = Duration::from_secs(3600);

#[derive(Parser)]
#[command(about = "Run a target with a known truth on 127.0.0.1")]
struct Arguments {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// An HTTP/1.1 target; every path behaves alike.
    Http(HttpArguments),
    /// A gRPC target; every method behaves alike.
    Grpc(GrpcArguments),
}

#[derive(Args)]
struct Common {
    /// Port of 127.0.0.1; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Hold each request so long: 250us, 5ms, 1s.
    #[arg(long, default_value = "0ms", value_parser = duration)]
    delay: Duration,
    /// Stall for this long in every this long: 1s/10s.
    #[arg(long)]
    freeze: Option<Pair>,
    /// End after so long, at most an hour.
    #[arg(long = "for", default_value = "60s", value_parser = duration)]
    life: Duration,
}

#[derive(Args)]
struct HttpArguments {
    #[command(flatten)]
    common: Common,
    /// The status of each answer.
    #[arg(long, default_value_t = 200)]
    status: u16,
    /// CannedResponse every nth request with 500.
    #[arg(long, value_name = "N")]
    fail_every: Option<u64>,
    /// Queue with workers and service time: 4x10ms.
    #[arg(long, conflicts_with = "fail_every")]
    capacity: Option<Capacity>,
    /// CannedResponse with the request as JSON.
    #[arg(long, conflicts_with_all = ["capacity", "fail_every", "status"])]
    echo: bool,
    /// A path that is always answered with 200, such as that of a health check.
    #[arg(long, value_name = "PATH")]
    healthy: Option<String>,
}

#[derive(Args)]
struct GrpcArguments {
    #[command(flatten)]
    common: Common,
    /// The code of each answer.
    #[arg(long, default_value_t = 0)]
    code: u16,
    /// CannedResponse with the message that was sent.
    #[arg(long, conflicts_with = "code")]
    echo: bool,
}

/// A length in every period.
#[derive(Clone, Copy)]
struct Pair {
    length: Duration,
    period: Duration,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (length, period) = text.split_once('/').ok_or("expected LENGTH/PERIOD, as in 1s/10s")?;
        Ok(Pair { length: duration(length)?, period: duration(period)? })
    }
}

/// Workers and the time each takes for a request.
#[derive(Clone, Copy)]
struct Capacity {
    workers: u32,
    service: Duration,
}

impl FromStr for Capacity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (workers, service) = text.split_once('x').ok_or("expected WORKERSxTIME, as in 4x10ms")?;
        let workers = workers.parse().map_err(|error| format!("{workers:?}: {error}"))?;
        Ok(Capacity { workers, service: duration(service)? })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|error| format!("{text:?}: {error}"))?;
    let nanos_a_unit = match &text[digits.len()..] {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        unit => return Err(format!("{unit:?} is not a unit: expected us, ms, s or m")),
    };
    number.checked_mul(nanos_a_unit).map(Duration::from_nanos).ok_or_else(|| format!("{text:?} is too long"))
}

impl Common {
    fn addr(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    fn site<B>(&self, behaviour: B) -> Site<B> {
        let site = Site::from(behaviour);
        match self.freeze {
            Some(Pair { length, period }) => site.freeze(period, length),
            None => site,
        }
    }
}

impl HttpArguments {
    fn behaviour(&self) -> Behaviour {
        let answer = CannedResponse::new(self.status).after(self.common.delay);
        match (self.echo, self.capacity, self.fail_every) {
            (true, _, _) => Behaviour::Echo,
            (_, Some(Capacity { workers, service }), _) => Behaviour::Capacity { workers, service, answer },
            (_, _, Some(nth)) => Behaviour::EveryNth {
                nth,
                failing: Box::new(Behaviour::status(500)),
                otherwise: Box::new(answer.into()),
            },
            _ => answer.into(),
        }
    }
}

impl GrpcArguments {
    fn behaviour(&self) -> GrpcBehaviour {
        match (self.echo, self.code) {
            (true, _) => GrpcBehaviour::Echo,
            (false, code) => GrpcBehaviour::Fixed { message: Vec::new(), code, delay: self.common.delay },
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (target, life) = match Arguments::parse().kind {
        Kind::Http(http) => {
            let mut site = http.common.site(http.behaviour());
            if let Some(path) = &http.healthy {
                site = site.at(path, Behaviour::ok());
            }
            (testbed::http_at(http.common.addr(), site)?, http.common.life)
        }
        Kind::Grpc(grpc) => {
            let site = grpc.common.site(grpc.behaviour());
            (testbed::grpc_at(grpc.common.addr(), site)?, grpc.common.life)
        }
    };
    writeln!(io::stdout(), "{}", target.addr())?;
    thread::sleep(life.min(LIFE_LIMIT));
    report(target)?;
    Ok(())
}

/// Says what the target saw, as a check on what a generator claims.
fn report(mut target: Target) -> io::Result<()> {
    target.stop();
    let log = target.log();
    let answered = log.iter().filter(|served| served.outcome == Outcome::Answered).count();
    let longest = log.iter().filter_map(Served::held).max().unwrap_or_default();
    let (read, connections) = (target.requests(), target.connections());
    writeln!(
        io::stdout(),
        "{read} requests by {connections} connections, {answered} answered; longest held {longest:?}"
    )
}
