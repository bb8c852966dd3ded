//! The first five minutes with the tool, recorded: the commands of a newcomer, what each printed, and how long it took.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use xtask::demo::service::{self, Ports, Service};
use xtask::workspace::Workspace;

use crate::steps;

/// What may follow the verb.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// With the programs as they are built
    #[arg(long)]
    built: bool,
    /// With this wheel, which `cargo xtask dist` made, installed first
    #[arg(long, value_name = "FILE", conflicts_with = "built")]
    wheel: Option<PathBuf>,
}

const DOCUMENT: &str = "docs/first-five-minutes.md";
const HEAD: &str = "# The first five minutes

A terminal from nothing to a verdict and a plan, as it was recorded: after each command what it printed, how long it took and its
exit code. The target is the [challenge service](../services/challenge/README.md). `cargo xtask session` records it again.
[tutorial.md](tutorial.md) explains the same steps, and goes on to a gate in CI.
";

/// What is typed, and the exit codes of a run that did what it is for. A busy machine may leave an objective undecided.
const COMMANDS: [(&str, &[i32]); 9] = [
    ("plimsoll http://127.0.0.1:8000/challenge/healthz", &[0]),
    (
        "plimsoll http://127.0.0.1:8000/challenge/healthz -r 200 -z 20s --objective 'p95(all) < 50ms' --objective 'error_rate(all) < 1%'",
        JUDGED,
    ),
    ("curl -sO http://127.0.0.1:8000/challenge/openapi.json", &[0]),
    ("plimsoll new openapi.json --server http://127.0.0.1:8000", &[0]),
    // The service takes a header in place of the tokens that its description asks for.
    ("sed -i 's/authorization = .*}/x-mock-user-id = \"player-${random(1, 1000)}\" }/' plan.toml", &[0]),
    ("plimsoll check plan.toml", &[0]),
    ("plimsoll run plan.toml --once | grep -e '──' -e exchanges", &[0]),
    ("plimsoll run plan.toml --quiet -o first.plimsoll --html first.html --junit first.xml", JUDGED),
    ("plimsoll run plan.toml --target api=http://127.0.0.1:8000/nowhere", &[2]),
];
const JUDGED: &[i32] = &[0, 4, 5];

/// Records the session.
///
/// # Errors
/// When something cannot be built or started, or a command ends in another way than it should.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let wheel = options.wheel.as_ref().map(std::path::absolute).transpose().context("the wheel's path")?;
    match (&wheel, options.built) {
        (Some(_), _) => build(workspace, &["--package", "challenge"])?,
        (None, true) => {}
        (None, false) => build(workspace, &["--package", "plimsoll", "--package", "challenge"])?,
    }
    service::require_free_ports()?;
    let folder = workspace.scratch("session")?;
    let mut session =
        Session { path: std::env::var("PATH").unwrap_or_default(), folder, text: String::new() };
    session.text.push_str("$ uname -srm; nproc\n");
    session.text.push_str(&session.output("uname -srm; nproc")?.0);
    let began = Instant::now();
    match &wheel {
        Some(wheel) => session.install(wheel)?,
        None => session.search(workspace.binary("plimsoll").parent().context("a binary is in a folder")?),
    }
    let served = Service::start(workspace, Ports::Default)?;
    COMMANDS.iter().try_for_each(|(command, codes)| session.type_in(command, codes))?;
    served.stop()?;
    let text = format!(
        "{HEAD}\n```text\n{}\n# all of it: {:.0} s\n```\n",
        session.text.trim_end(),
        began.elapsed().as_secs_f64()
    );
    std::fs::write(workspace.root().join(DOCUMENT), &text)
        .with_context(|| format!("cannot write {DOCUMENT}"))?;
    println!("{text}");
    Ok(())
}

fn build(workspace: &Workspace, packages: &[&str]) -> Result<()> {
    let mut command = workspace.cargo();
    command.args(["build", "--bins"]).args(packages);
    steps::run(command)
}

/// A terminal in a folder of its own.
struct Session {
    path: String,
    folder: PathBuf,
    text: String,
}

impl Session {
    /// The wheel, without a network, into an environment of its own.
    fn install(&mut self, wheel: &Path) -> Result<()> {
        let name = wheel.file_name().context("the wheel has a name")?.to_string_lossy().into_owned();
        std::fs::copy(wheel, self.folder.join(&name)).context("cannot copy the wheel")?;
        self.type_in("python3 -m venv tools", &[0])?;
        self.type_in(
            &format!("tools/bin/pip install --quiet --no-index --disable-pip-version-check ./{name}"),
            &[0],
        )?;
        self.search(&self.folder.join("tools/bin"));
        self.type_in("export PATH=$PWD/tools/bin:$PATH; plimsoll --version", &[0])
    }

    /// Programs are found in this folder first.
    fn search(&mut self, folder: &Path) {
        self.path = format!("{}:{}", folder.display(), self.path);
    }

    /// Runs a command and records it.
    fn type_in(&mut self, command: &str, codes: &[i32]) -> Result<()> {
        let began = Instant::now();
        let (output, code) = self.output(command)?;
        let seconds = began.elapsed().as_secs_f64();
        ensure!(codes.contains(&code), "`{command}` ended with {code}:\n{output}");
        self.text.push_str(&format!("\n$ {command}\n{output}# {seconds:.1} s, exit code {code}\n"));
        Ok(())
    }

    /// What a command prints on both streams, and its exit code.
    fn output(&self, command: &str) -> Result<(String, i32)> {
        let mut shell = Command::new("sh");
        shell
            .arg("-c")
            .arg(format!("exec 2>&1; {command}"))
            .current_dir(&self.folder)
            .env("PATH", &self.path);
        let output = shell.stdin(Stdio::null()).output().context("cannot start sh")?;
        let code = output.status.code().with_context(|| format!("`{command}` was ended by a signal"))?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), code))
    }
}
