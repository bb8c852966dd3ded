//! Runs parsers with kept and mutated inputs, and prints what they took; a finding is written to a file and reported.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use fuzz::mutate::Mutator;
use fuzz::{Case, MOST_CPU, TARGETS, Target, corpus, run_case};

/// Run the tool's parsers with mutated inputs
#[derive(Parser)]
struct Arguments {
    /// Which parser; all of them when none is named
    target: Option<String>,
    /// How many inputs each gets; `run-file` gets one of 20, `k6-heap` one of 40
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
        let input = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let case = run_case(target, &input).map_err(|why| anyhow!("{}: {why}", path.display()))?;
        writeln!(io::stdout(), "{case:?}")?;
        return Ok(());
    }
    writeln!(
        io::stdout(),
        "{:<14} {:>9} {:>10} {:>12} {:>12} {:>10}",
        "parser",
        "cases",
        "valid",
        "peak bytes",
        "may take",
        "slowest ms"
    )?;
    let mut findings = 0;
    for target in chosen {
        findings += run(target, &arguments)?;
    }
    if findings > 0 {
        bail!("{findings} findings in {}", arguments.findings.display());
    }
    Ok(())
}

/// Runs one parser with what is kept, and then with mutated inputs; stops at its first finding.
fn run(target: &Target, arguments: &Arguments) -> Result<u32> {
    let mut tally = Tally::default();
    let watchdog = Watchdog::start(target.name, &arguments.findings)?;
    let under_way = UnderWay::begin(target.name, &arguments.findings)?;
    for (path, input) in corpus(target).context("the corpus cannot be read")? {
        watchdog.watch(&input);
        under_way.keep(&input)?;
        match run_case(target, &input) {
            Ok(case) => tally.add(case),
            Err(why) => {
                writeln!(io::stderr(), "{}: {} is a finding: {why}", target.name, path.display())?;
                return Ok(1);
            }
        }
    }
    let mut mutator = Mutator::new(target, arguments.seed);
    for number in 0..arguments.inputs.div_ceil(target.one_of) {
        let input = mutator.next_input();
        watchdog.watch(&input);
        under_way.keep(&input)?;
        match run_case(target, &input) {
            Ok(case) => tally.add(case),
            Err(why) => {
                let name = format!("{}-{}-{number}", target.name, arguments.seed);
                let path = keep(&arguments.findings, &name, &input)?;
                writeln!(
                    io::stderr(),
                    "{}: input {number} is a finding: {why}: {}",
                    target.name,
                    path.display()
                )?;
                return Ok(1);
            }
        }
    }
    under_way.end()?;
    writeln!(
        io::stdout(),
        "{:<14} {:>9} {:>10} {:>12} {:>12} {:>10.1}",
        target.name,
        tally.cases,
        tally.understood,
        tally.peak_bytes,
        target.most_bytes,
        tally.slowest.as_secs_f64() * 1e3
    )?;
    Ok(0)
}

fn keep(folder: &Path, name: &str, input: &[u8]) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).context("cannot make the folder of findings")?;
    let path = folder.join(name);
    std::fs::write(&path, input).context("cannot write the finding")?;
    Ok(path)
}

/// All cases of one parser.
#[derive(Default)]
struct Tally {
    cases: u64,
    understood: u64,
    peak_bytes: usize,
    slowest: Duration,
}

impl Tally {
    fn add(&mut self, case: Case) {
        self.cases += 1;
        self.understood += u64::from(case.is_understood);
        self.peak_bytes = self.peak_bytes.max(case.peak_bytes);
        self.slowest = self.slowest.max(case.cpu);
    }
}

/// A file with the input that runs now, so that what ends the process leaves its input.
struct UnderWay {
    path: PathBuf,
    file: File,
}

impl UnderWay {
    fn begin(target: &str, findings: &Path) -> Result<UnderWay> {
        let path = keep(findings, &format!("{target}-under-way"), &[])?;
        let file = File::options().write(true).open(&path).context("cannot open the file of the input")?;
        Ok(UnderWay { path, file })
    }

    fn keep(&self, input: &[u8]) -> Result<()> {
        let length = u64::try_from(input.len()).context("an input is too long")?;
        self.file.write_all_at(input, 0).context("cannot keep the input")?;
        self.file.set_len(length).context("cannot keep the input")
    }

    /// Nothing has ended the process.
    fn end(self) -> Result<()> {
        std::fs::remove_file(&self.path).context("cannot remove the file of the input")
    }
}

/// Ends the process when a case does not end, and keeps its input.
struct Watchdog {
    inputs: Sender<Vec<u8>>,
}

impl Watchdog {
    fn start(target: &'static str, findings: &Path) -> Result<Watchdog> {
        let (inputs, watched) = channel();
        let findings = findings.to_owned();
        let watch = move || {
            let mut last = Vec::new();
            loop {
                match watched.recv_timeout(MOST_CPU * 6) {
                    Ok(input) => last = input,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        let path = keep(&findings, &format!("{target}-hangs"), &last);
                        let path =
                            path.map_or_else(|error| error.to_string(), |path| path.display().to_string());
                        // The process ends in any case.
                        let _ = writeln!(io::stderr(), "{target}: an input does not end: {path}");
                        std::process::exit(1);
                    }
                }
            }
        };
        std::thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(watch)
            .context("no thread for the watchdog")?;
        Ok(Watchdog { inputs })
    }

    fn watch(&self, input: &[u8]) {
        // It only ends with this.
        let _ = self.inputs.send(input.to_vec());
    }
}
