//! `peers postgres`: a temporary PostgreSQL for use by hand or from a script.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use peers::PeerError;
use peers::postgres::Cluster;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["postgres"] => postgres().map_err(|error| error.to_string()),
        _ => Err("usage: peers postgres (serves until its standard input ends, or Ctrl-C)".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            let _closed = writeln!(std::io::stderr(), "peers: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a line of environment variables once the server is ready, so that a script can wait for it.
fn postgres() -> Result<(), PeerError> {
    let cluster = Cluster::start()?;
    let words: Vec<String> = cluster.env().iter().map(|(name, value)| format!("{name}={value}")).collect();
    let _closed = writeln!(std::io::stdout(), "{}", words.join(" "));
    let _ended = std::io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}
