//! Writes the HTML report of the sample run to the given path, to view it in a browser; the other reports go to standard
//! output. With a number of seconds after the path, the run is killed at that second.

#[path = "../tests/it/sample_run.rs"]
mod sample_run;

use std::error::Error;
use std::io::Write;

use evidence::Ending;
use report::{Detail, Style, Summary};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: sample PATH [SECONDS]")?;
    let run = match std::env::args().nth(2) {
        Some(seconds) => sample_run::run(seconds.parse()?, None),
        None => sample_run::run(105, Some(Ending::Completed)),
    };
    let summary = Summary::of(&run, &sample_run::workload(), &sample_run::judgement())?
        .with_files(&[("archive", "demo.plimsoll"), ("report", "demo.html")]);
    std::fs::write(&path, report::html(&summary))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", report::terminal(&summary, Style::Colour, 80, Detail::Full))?;
    writeln!(out, "{}\n{}", report::markdown(&summary), report::junit(&summary))?;
    Ok(())
}
