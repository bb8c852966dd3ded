//! How many instructions one request and one iteration of a script take, by callgrind: a count, not a time, so that a busy
//! machine does not change it. More than 2 % beyond the recorded figure is a failure.
//!
//! Each figure is the difference of two runs of different lengths divided by the difference of their lengths, so that
//! starting, judging and reporting cancel. One virtual user in a closed model does one thing after the other. The target
//! runs outside of valgrind. Only the thread that offers the load is counted, without what it does once a second: what
//! is left depends on time only where it decides whether an exchange is kept as one of the slowest.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use xtask::workspace::Workspace;

use crate::bench::testbed_target::TestbedTarget;
use crate::{needs, steps};

/// Where the figures are recorded.
const RECORDED: &str = "chores/instructions.toml";
/// How far a figure may be from the recorded one, in per cent of it.
const TOLERANCE_PERCENT: u64 = 2;
/// The shorter run, in requests or iterations: enough that every connection, table and cache is in use.
const SHORT: u64 = 200;
/// The longer run: so many more that what depends on time is less than a hundredth.
const LONG: u64 = 10_200;
/// A function that only the thread that offers the load calls.
const LOOP: &str = "engine::event_loop::EventLoop::run";
/// What it does once a second.
const TICK: &str = ">::close_tick";

/// Starts its arguments without the call `prctl(PR_GET_AUXV)`, by a filter of system calls: valgrind 3.19 lets it through, and
/// the clock would then be looked for where the kernel has put it, which valgrind has hidden. Refused, the program reads
/// the file that valgrind writes for it. `$n` is the number of `prctl`.
const WITHOUT_AUXV: &str = r#"my $n = shift;
my @filter = ([0x20, 0, 0, 0], [0x15, 0, 3, $n], [0x20, 0, 0, 16], [0x15, 0, 1, 0x41555856],
  [6, 0, 0, 0x50016], [6, 0, 0, 0x7fff0000]);
my $code = join "", map { pack "SCCL", @$_ } @filter;
my $program = pack "Sx6P", scalar @filter, $code;
syscall($n, 38, 1, 0, 0, 0);
syscall($n, 22, 2, $program) and die "the filter is refused: $!";
exec @ARGV or die "$ARGV[0]: $!";"#;
const PRCTL: &str = if cfg!(target_arch = "aarch64") { "167" } else { "157" };

const SCRIPT: &str = "import http from 'k6/http';
import { check } from 'k6';
export default function () {
  const response = http.get(`http://${__ENV.TARGET}/`);
  check(response, { 'status is 200': (r) => r.status === 200 });
}
";

struct Case {
    name: &'static str,
    /// The target's arguments.
    target: &'static [&'static str],
    /// The command's arguments, for the target's address and so many requests.
    command: fn(&str, u64) -> Vec<String>,
}

const CASES: [Case; 3] = [
    Case { name: "http1_request", target: &["http"], command: |at, count| http(at, count, &[]) },
    Case {
        name: "http2_request",
        target: &["grpc", "--echo"],
        command: |at, count| http(at, count, &["--http2"]),
    },
    Case { name: "script_iteration", target: &["http"], command: script },
];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn http(address: &str, count: u64, more: &[&str]) -> Vec<String> {
    let (url, count) = (format!("http://{address}/"), count.to_string());
    words(&[&["http", &url, "-c", "1", "-n", &count, "--quiet", "--no-precheck"], more].concat())
}

fn script(address: &str, count: u64) -> Vec<String> {
    let (target, count) = (format!("TARGET={address}"), count.to_string());
    words(&[
        "run",
        "get.js",
        "-u",
        "1",
        "-i",
        &count,
        "-e",
        &target,
        "--quiet",
        "--force",
        "--evidence",
        "script.plimsoll",
    ])
}

/// Counts, and compares with what is recorded or records.
///
/// # Errors
/// When a figure is more than 2 % above the recorded one, or cannot be found.
pub(crate) fn run(workspace: &Workspace, is_recording: bool) -> Result<()> {
    needs::provide(needs::NEEDS)?;
    let folder = workspace.scratch("instructions")?;
    fs::write(folder.join("get.js"), SCRIPT).context("cannot write the script")?;
    let found = Figures {
        compiler: compiler()?,
        profile: if workspace.profile().is_empty() { "dev" } else { "release" }.to_owned(),
        counts: CASES.iter().map(|case| figure(workspace, case, &folder)).collect::<Result<_>>()?,
    };
    let path = workspace.root().join(RECORDED);
    if is_recording {
        fs::write(&path, found.text()).with_context(|| format!("cannot write {RECORDED}"))?;
        print!("{RECORDED}:\n{}", found.text());
        return Ok(());
    }
    let recorded = fs::read_to_string(&path).with_context(|| format!("cannot read {RECORDED}"))?;
    let compared = Compared::of(&found, &Figures::read(&recorded)?);
    compared.lines.iter().for_each(|line| println!("{line}"));
    ensure!(compared.risen.is_empty(), "{}", compared.risen.join("; "));
    Ok(())
}

/// The instructions of one request or iteration of a case.
fn figure(workspace: &Workspace, case: &Case, folder: &Path) -> Result<Count> {
    let target = TestbedTarget::start(workspace, &[case.target, &["--for", "10m"]].concat())?;
    let count = |length: u64| {
        let arguments = (case.command)(&target.address, length);
        counted(workspace, &arguments, folder).with_context(|| format!("{}, {length} times", case.name))
    };
    let each = (count(LONG)? as f64 - count(SHORT)? as f64) / (LONG - SHORT) as f64;
    ensure!(each > 0.0, "{}: the longer run took no more instructions than the shorter one", case.name);
    Ok(Count { name: case.name.to_owned(), each: each.round() as u64 })
}

/// The instructions of the thread that offers the load, in one run of the command.
fn counted(workspace: &Workspace, arguments: &[String], folder: &Path) -> Result<u64> {
    let program = workspace.binary("plimsoll");
    ensure!(program.exists(), "{} is missing: the tests build it", program.display());
    let files = folder.join("threads");
    fs::create_dir(&files).context("cannot make a folder for what callgrind writes")?;
    let mut command = Command::new("perl");
    command.args([
        "-e",
        WITHOUT_AUXV,
        PRCTL,
        "valgrind",
        "--tool=callgrind",
        "--separate-threads=yes",
        "--quiet",
    ]);
    command.arg(format!("--callgrind-out-file={}", files.join("callgrind").display()));
    command.arg(program).args(arguments).current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null());
    steps::run(command)?;
    let mut loops = Vec::new();
    for entry in fs::read_dir(&files).context("cannot list what callgrind wrote")? {
        let path = entry.context("cannot list what callgrind wrote")?.path();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        loops.extend(of_requests(&text));
    }
    fs::remove_dir_all(&files).context("cannot remove what callgrind wrote")?;
    match loops[..] {
        [count] => Ok(count),
        _ => bail!("{} threads offered load instead of one", loops.len()),
    }
}

/// The instructions of a thread, by its file of callgrind, without those of ticks; if it is the one that offers the load.
fn of_requests(text: &str) -> Option<u64> {
    text.contains(LOOP).then_some(())?;
    let total: u64 = text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()?;
    Some(total - of_function(text, TICK))
}

/// The instructions of a function with all that it calls: a call is `cfn=(NUMBER) NAME`, the name only where it is first
/// mentioned, then a line with how often, then one whose last word is the cost.
fn of_function(text: &str, end_of_name: &str) -> u64 {
    let mentions =
        text.lines().filter_map(|line| line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")));
    let named = mentions.filter_map(|mention| mention.split_once(' '));
    let numbers: Vec<&str> =
        named.filter(|(_, name)| name.trim_end().ends_with(end_of_name)).map(|(number, _)| number).collect();
    let mut lines = text.lines();
    let mut sum = 0;
    while let Some(line) = lines.next() {
        let Some(callee) = line.strip_prefix("cfn=") else { continue };
        let number = callee.split(' ').next().unwrap_or_default();
        let cost = lines.by_ref().find(|line| !line.starts_with("calls="));
        if numbers.contains(&number) {
            sum += cost.and_then(|cost| cost.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    sum
}

/// The compiler that the binaries are built with, as it names itself.
fn compiler() -> Result<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    Ok(steps::printed(Command::new(program).arg("--version"))?.trim().to_owned())
}

/// How many instructions something takes.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    name: String,
    each: u64,
}

/// Figures, and what they depend on beside the source.
#[derive(Debug, PartialEq, Eq)]
struct Figures {
    compiler: String,
    profile: String,
    counts: Vec<Count>,
}

impl Figures {
    fn text(&self) -> String {
        let Self { compiler, profile, counts } = self;
        let rows: String = counts.iter().map(|count| format!("{} = {}\n", count.name, count.each)).collect();
        format!(
            "# Instructions of one request or iteration, written by `cargo xtask instructions --record`.\n\
             compiler = \"{compiler}\"\nprofile = \"{profile}\"\n\n[instructions]\n{rows}"
        )
    }

    /// Reads what [`Figures::text`] writes: a line `name = value` each.
    fn read(text: &str) -> Result<Self> {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
                .with_context(|| format!("{RECORDED} has no `{name}`"))
        };
        let (_, counts) =
            text.split_once("[instructions]\n").with_context(|| format!("{RECORDED} has no figures"))?;
        let count = |line: &str| {
            let (name, each) =
                line.split_once(" = ").with_context(|| format!("`{line}` in {RECORDED} is not a figure"))?;
            let each = each.parse().with_context(|| format!("`{line}` in {RECORDED} is not a figure"))?;
            Ok(Count { name: name.to_owned(), each })
        };
        let counts = counts.lines().map(count).collect::<Result<_>>()?;
        Ok(Self { compiler: value("compiler")?, profile: value("profile")?, counts })
    }
}

/// What a comparison with the record came to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Compared {
    lines: Vec<String>,
    /// What rose by too much.
    risen: Vec<String>,
}

impl Compared {
    fn of(found: &Figures, recorded: &Figures) -> Self {
        let mut compared = Self::default();
        let record = "record again: cargo xtask instructions --record";
        let is_alike = (&found.compiler, &found.profile) == (&recorded.compiler, &recorded.profile);
        if !is_alike {
            let [new, old] =
                [found, recorded].map(|of| format!("{} with the profile `{}`", of.compiler, of.profile));
            compared.lines.push(format!("built by {new}, recorded of {old}; {record}"));
        }
        for Count { name, each } in &found.counts {
            let Some(before) = recorded.counts.iter().find(|count| count.name == *name) else {
                compared
                    .risen
                    .push(format!("{name}: {each} instructions, and nothing is recorded; {record}"));
                continue;
            };
            let change = (*each as f64 / before.each as f64 - 1.0) * 100.0;
            let line = format!("{name}: {each} instructions, {change:+.2} % of {}", before.each);
            if is_alike && each * 100 > before.each * (100 + TOLERANCE_PERCENT) {
                compared.risen.push(format!("{line}; find out why, or {record}"));
            } else if is_alike && each * 100 < before.each * (100 - TOLERANCE_PERCENT) {
                compared.lines.push(format!("{line}; {record}"));
            } else {
                compared.lines.push(line);
            }
        }
        compared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(compiler: &str, each: u64) -> Figures {
        let counts = vec![Count { name: "http1_request".to_owned(), each }];
        Figures { compiler: compiler.to_owned(), profile: "dev".to_owned(), counts }
    }

    fn check(found: u64, lines: &[&str], risen: &[&str]) {
        let compared = Compared::of(&figures("rustc 1", found), &figures("rustc 1", 10_000));
        assert_eq!(
            (&compared.lines[..], &compared.risen[..]),
            (&words(lines)[..], &words(risen)[..]),
            "of {found}"
        );
    }

    #[test]
    fn more_than_two_percent_is_a_failure_and_less_is_to_be_recorded() {
        check(10_200, &["http1_request: 10200 instructions, +2.00 % of 10000"], &[]);
        check(
            10_201,
            &[],
            &[
                "http1_request: 10201 instructions, +2.01 % of 10000; find out why, or record again: cargo xtask \
               instructions --record",
            ],
        );
        check(9_800, &["http1_request: 9800 instructions, -2.00 % of 10000"], &[]);
        check(
            9_700,
            &[
                "http1_request: 9700 instructions, -3.00 % of 10000; record again: cargo xtask instructions --record",
            ],
            &[],
        );
    }

    #[test]
    fn figures_of_another_compiler_are_not_compared() {
        let compared = Compared::of(&figures("rustc 2", 20_000), &figures("rustc 1", 10_000));
        assert!(compared.risen.is_empty());
        assert_eq!(
            compared.lines[0],
            "built by rustc 2 with the profile `dev`, recorded of rustc 1 with the profile `dev`; record again: cargo \
             xtask instructions --record"
        );
    }

    #[test]
    fn what_is_not_recorded_is_a_failure() {
        let none = Figures { counts: Vec::new(), ..figures("rustc 1", 1) };
        let compared = Compared::of(&figures("rustc 1", 10_000), &none);
        assert_eq!(compared.risen.len(), 1, "{compared:?}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written = figures("rustc 1.95.0 (59807616e 2026-04-14)", 23_142);
        assert_eq!(Figures::read(&written.text()).expect("it is well formed"), written);
        for broken in ["", "compiler = \"x\"\nprofile = \"dev\"\n[instructions]\na = -1\n", "x"] {
            assert!(Figures::read(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn the_thread_that_offers_the_load_is_counted_without_its_ticks() {
        let tick = format!("cfn=(7) <impl X{TICK}\ncalls=1 16\n+2 30\n");
        let again = "fn=(8) other\n16 4\ncfn=(9) more\ncalls=2 1\n* 100\ncfn=(7)\ncalls=3 16\n12 12\n";
        let of_loop = format!("version: 1\nfn=(12) {LOOP}\n16 7\n{tick}{again}totals: 242\n");
        assert_eq!(of_requests(&of_loop), Some(200));
        assert_eq!(of_requests("version: 1\nfn=(12) main\ntotals: 142\n"), None);
    }
}
