//! Runs parsers with mutated inputs; a finding is written to a file and reported.

use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Parser;
use fuzz::mutate::Mutator;
use fuzz::{TARGETS, Target};

/// Run the tool's parsers with mutated inputs
#[derive(Parser)]
struct Arguments {
    /// Which parser; all of them when none is named
    target: Option<String>,
    /// How many inputs each gets
    #[arg(long, default_value_t = 1_000_000)]
    inputs: u64,
    /// The seed of the inputs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run one input from a file instead
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<PathBuf>,
    /// The folder for findings
    #[arg(long, value_name = "FOLDER", default_value = "fuzz/findings")]
    findings: PathBuf,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| arguments.target.as_deref().is_none_or(|name| name == target.name))
        .collect();
    if chosen.is_empty() {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no such parser; there are: {}", known.join(", "));
    }
    if let (Some(path), [target]) = (&arguments.input, &chosen[..]) {
        (target.run)(&std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?);
        return Ok(());
    }
    let mut findings = 0;
    for target in chosen {
        findings += run(target, &arguments)?;
    }
    if findings > 0 {
        bail!("{findings} findings in {}", arguments.findings.display());
    }
    Ok(())
}

/// Runs one parser; stops at its first finding.
fn run(target: &Target, arguments: &Arguments) -> Result<u32> {
    let mut mutator = Mutator::new(target, arguments.seed);
    for number in 0..arguments.inputs {
        let input = mutator.next_input();
        if panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            std::fs::create_dir_all(&arguments.findings).context("cannot make the folder of findings")?;
            let path = arguments.findings.join(format!("{}-{}-{number}", target.name, arguments.seed));
            std::fs::write(&path, &input).context("cannot write the finding")?;
            writeln!(io::stderr(), "{}: input {number} is a finding: {}", target.name, path.display())?;
            return Ok(1);
        }
    }
    writeln!(io::stdout(), "{}: {} inputs, no finding", target.name, arguments.inputs)?;
    Ok(0)
}
