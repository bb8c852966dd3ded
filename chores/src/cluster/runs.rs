//! What is tried in the cluster. Verdicts are those of a machine that does everything at once, and are not asserted; what is
//! offered, what is said, and that nothing is left, is.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::image;
use super::node::Node;
use crate::steps;
use xtask::child::Running;
use xtask::workspace::Workspace;

const CHALLENGE: &str = include_str!("challenge.yaml");
const PLAN: &str = include_str!("plan.toml");
const SCRIPT: &str = include_str!("listing.js");
/// Of 15 s at 100 a second.
const ARRIVALS: u64 = 1_500;
const PODS: &str = "5";
/// Five pods and all else share the processors of this machine.
const REQUESTS: [&str; 4] = ["--cpu", "50m", "--memory", "256Mi"];
/// A secret that must be in the Secret alone.
const PLAYERS: (&str, &str) = ("PLAYERS", "hunter22");
/// Longer than any of these runs takes.
const RUN_LIMIT: Duration = Duration::from_secs(240);
/// Everything that a run may leave.
const KINDS: &str = "jobs,pods,services,configmaps,secrets,networkpolicies";
const OF_RUNS: &str = "--selector=app.kubernetes.io/name=plimsoll";
/// The exit codes of verdicts.
const JUDGED: [i32; 4] = [0, 3, 4, 5];

struct Runs<'a> {
    node: &'a Node,
    plimsoll: PathBuf,
    folder: &'a Path,
}

/// How a command ended, and the files with what it printed.
struct Ended {
    code: Option<i32>,
    output: String,
    errors: String,
}

/// Everything, one after the other.
pub(super) fn all(workspace: &Workspace, node: &Node, folder: &Path) -> Result<()> {
    for (name, text) in [
        ("challenge.yaml", CHALLENGE),
        ("plan.toml", PLAN),
        ("players.csv", "id\nanna\nbert\n"),
        ("listing.js", SCRIPT),
        ("players.json", "[\"anna\", \"bert\"]"),
    ] {
        std::fs::write(folder.join(name), text).context("cannot write a file")?;
    }
    let runs = Runs { node, plimsoll: workspace.binary("plimsoll"), folder };
    steps::step("cluster: the challenge service", || {
        node.kubectl(&["apply", "--filename", &folder.join("challenge.yaml").display().to_string()])?;
        node.kubectl(&["rollout", "status", "deployment/challenge", "--timeout=90s"]).map(drop)
    })?;
    steps::step("cluster: five pods", || runs.judged())?;
    steps::step("cluster: a k6 script", || runs.scripted())?;
    steps::step("cluster: a pod is deleted in mid-run", || runs.loses_a_pod())?;
    steps::step("cluster: an interrupt", || runs.interrupted())?;
    steps::step("cluster: a closed laptop, and a fetch", || runs.fetched_later())?;
    steps::step("cluster: pods that cannot start", || runs.cannot_start())?;
    steps::step("cluster: from a repository", || runs.applied_from_repository())
}

impl Runs<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.node.reached_by(Command::new(&self.plimsoll));
        command.current_dir(self.folder).env(PLAYERS.0, PLAYERS.1).args(arguments);
        command
    }

    fn run<'a>(&self, image: &'a str, name: &'a str) -> Vec<&'a str> {
        let run = ["run", "plan.toml", "--kubernetes", PODS, "--image", image, "--output", name];
        [&run[..], &REQUESTS].concat()
    }

    /// Starts a command whose output goes into files of this name.
    fn start(&self, arguments: &[&str], name: &str) -> Result<Running> {
        let mut command = self.command(arguments);
        let file = |ending: &str| {
            File::create(self.folder.join(format!("{name}.{ending}"))).context("cannot write a file")
        };
        command.stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?).process_group(0);
        Running::start("plimsoll", command)
    }

    fn printed(&self, name: &str, ending: &str) -> String {
        let path = self.folder.join(format!("{name}.{ending}"));
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    fn ended(&self, mut running: Running, name: &str) -> Result<Ended> {
        let mut code = None;
        let has_ended = peers::poll::until(RUN_LIMIT, || match running.ended() {
            Ok(Some(status)) => {
                code = status.code();
                true
            }
            _ => false,
        });
        let (output, errors) = (self.printed(name, "out"), self.printed(name, "err"));
        ensure!(has_ended, "plimsoll has not ended: {errors}");
        Ok(Ended { code, output, errors })
    }

    /// Waits until the command has printed a line on standard error that contains this.
    fn said(&self, running: &mut Running, name: &str, what: &str) -> Result<()> {
        let has_said = || self.printed(name, "err").contains(what);
        let is_over = || has_said() || running.ended().is_ok_and(|ended| ended.is_some());
        ensure!(
            peers::poll::until(RUN_LIMIT, is_over) && has_said(),
            "`{what}` was not said: {}",
            self.printed(name, "err")
        );
        Ok(())
    }

    fn is_nothing_left(&self) -> Result<()> {
        let left = self.node.kubectl(&["get", KINDS, OF_RUNS, "--output=name"])?;
        ensure!(left.trim().is_empty(), "this is left in the cluster:\n{left}");
        println!("    nothing is left in the cluster");
        Ok(())
    }

    /// The report of a run file, as JSON.
    fn report(&self, file: &str) -> Result<Value> {
        let output =
            self.command(&["report", file, "--json", "-"]).output().context("cannot start plimsoll")?;
        serde_json::from_slice(&output.stdout).context("the report is not JSON")
    }

    fn judged(&self) -> Result<()> {
        let image = image::reference("plimsoll");
        let mut running = self.start(&self.run(&image, "judged.plimsoll"), "judged")?;
        self.said(&mut running, "judged", "5 of 5 pods started")?;
        let open = self.node.kubectl(&["get", "jobs,pods,configmaps", OF_RUNS, "--output=yaml"])?;
        ensure!(!open.contains(PLAYERS.1), "the secret is outside the Secret:\n{open}");
        let ended = self.ended(running, "judged")?;
        println!("{}\n{}exit code {:?}", ended.errors, ended.output, ended.code);
        ensure!(ended.code.is_some_and(|code| JUDGED.contains(&code)), "no verdict");
        let report = self.report("judged.plimsoll")?;
        let arrivals = &report["accounting"]["arrivals"];
        println!("    arrivals: {arrivals}");
        ensure!(arrivals["scheduled"] == ARRIVALS, "{arrivals} were scheduled, and not {ARRIVALS}");
        self.is_nothing_left()
    }

    /// The pods have the script's file and the variable, and its thresholds are decided over all of them.
    fn scripted(&self) -> Result<()> {
        let image = image::reference("plimsoll");
        let variable = format!("--env={}={}", PLAYERS.0, PLAYERS.1);
        let run = ["run", "listing.js", &variable, "--kubernetes", PODS, "--image", &image];
        let evidence = ["--evidence", "scripted.plimsoll"];
        let running = self.start(&[&run[..], &evidence, &REQUESTS].concat(), "scripted")?;
        let ended = self.ended(running, "scripted")?;
        println!("{}\n{}exit code {:?}", ended.errors, ended.output, ended.code);
        let report = self.report("scripted.plimsoll")?;
        let thresholds = report["claims"].as_array().context("no thresholds")?;
        let do_hold = thresholds.iter().all(|threshold| threshold["holds_in_k6"] == true);
        ensure!(thresholds.len() == 2 && do_hold, "not what all pods counted: {thresholds:?}");
        let reports = ended.output.matches("\nObjectives\n").count();
        ensure!(reports == 1, "the report is shown {reports} times");
        self.is_nothing_left()
    }

    fn loses_a_pod(&self) -> Result<()> {
        let image = image::reference("plimsoll");
        let mut running = self.start(&self.run(&image, "lost.plimsoll"), "lost")?;
        self.under_load(&mut running, "lost")?;
        let pod = self.node.kubectl(&[
            "get",
            "pods",
            "--selector=app.kubernetes.io/name=plimsoll,batch.kubernetes.io/job-completion-index=3",
            "--output=name",
        ])?;
        self.node.kubectl(&["delete", pod.trim(), "--grace-period=1", "--wait=false"])?;
        let ended = self.ended(running, "lost")?;
        println!("{}\n{}exit code {:?}", ended.errors, ended.output, ended.code);
        ensure!(
            ended.output.contains("W1") && ended.output.contains("worker 4"),
            "the verdict does not mention it"
        );
        self.is_nothing_left()
    }

    /// Waits until the coordinator has reported the load: it says something every 5 s.
    fn under_load(&self, running: &mut Running, name: &str) -> Result<()> {
        self.said(running, name, "/s")
    }

    fn interrupted(&self) -> Result<()> {
        let image = image::reference("plimsoll");
        let mut running = self.start(&self.run(&image, "interrupted.plimsoll"), "interrupted")?;
        self.under_load(&mut running, "interrupted")?;
        kill_process(Pid::from_child(running.child()), Signal::INT).context("it has ended")?;
        let ended = self.ended(running, "interrupted")?;
        println!("{}\n{}exit code {:?}", ended.errors, ended.output, ended.code);
        ensure!(
            ended.code.is_some_and(|code| JUDGED[1..].contains(&code)),
            "an interrupted run passed, or was lost"
        );
        ensure!(ended.output.contains("interrupted"), "the verdict does not mention it");
        self.is_nothing_left()
    }

    /// The command is killed in mid-run, and another one fetches what it began.
    fn fetched_later(&self) -> Result<()> {
        let image = image::reference("plimsoll");
        let mut running = self.start(&self.run(&image, "unused.plimsoll"), "closed")?;
        self.under_load(&mut running, "closed")?;
        drop(running);
        let said = self.printed("closed", "err");
        let job =
            said.split_whitespace().skip_while(|word| *word != "fetch").nth(1).context("no job was named")?;
        let job = job.trim_end_matches('`').to_owned();
        let ended =
            self.ended(self.start(&["fetch", &job, "--output", "fetched.plimsoll"], "fetched")?, "fetched")?;
        println!("{}\n{}exit code {:?}", ended.errors, ended.output, ended.code);
        let arrivals = &self.report("fetched.plimsoll")?["accounting"]["arrivals"];
        ensure!(arrivals["scheduled"] == ARRIVALS, "{arrivals} were scheduled, and not {ARRIVALS}");
        self.is_nothing_left()
    }

    /// An image that is not there, more processors than there are, and a quota.
    fn cannot_start(&self) -> Result<()> {
        let image = image::reference("plimsoll");
        let quota = ["create", "quota", "few", "--hard=pods=3"];
        let few: [(&str, &[&str], &str); 3] = [
            ("localhost/absent:1", &[], "ErrImagePull"),
            (&image, &["--cpu", "1000"], "Insufficient cpu"),
            (&image, &[], "exceeded quota"),
        ];
        for (image, more, reason) in few {
            if reason == "exceeded quota" {
                self.node.kubectl(&quota)?;
            }
            let run = ["run", "plan.toml", "--kubernetes", PODS, "--image", image, "--start-timeout", "15"];
            let arguments =
                if more.is_empty() { [&run[..], &REQUESTS].concat() } else { [&run[..], more].concat() };
            let ended = self.ended(self.start(&arguments, "stuck")?, "stuck")?;
            println!("{}exit code {:?}", ended.errors, ended.code);
            ensure!(ended.code == Some(2) && ended.errors.contains(reason), "`{reason}` was not said");
            self.is_nothing_left()?;
        }
        self.node.kubectl(&["delete", "quota", "few"]).map(drop)
    }

    fn applied_from_repository(&self) -> Result<()> {
        let image = image::reference("plimsoll");
        let run = ["manifest", "plan.toml", "--kubernetes", PODS, "--image", &image, "--name", "nightly"];
        let output =
            self.command(&[&run[..], &REQUESTS].concat()).output().context("cannot start plimsoll")?;
        let path = self.folder.join("nightly.yaml").display().to_string();
        std::fs::write(&path, &output.stdout).context("cannot write a file")?;
        let keys = self.folder.join("run.pem");
        steps::run({
            let mut make = self.command(&["worker", "--make-keys"]);
            make.arg(&keys);
            make
        })?;
        let (file, literal) = (
            format!("--from-file={}", keys.display()),
            format!("--from-literal={}={}", PLAYERS.0, PLAYERS.1),
        );
        self.node.kubectl(&["create", "secret", "generic", "nightly", &file, &literal])?;
        self.node.kubectl(&["apply", "--filename", &path])?;
        let ended = self.ended(
            self.start(&["fetch", "nightly", "--output", "nightly.plimsoll"], "nightly")?,
            "nightly",
        )?;
        println!("{}\n{}exit code {:?}", ended.errors, ended.output, ended.code);
        self.node.until(
            "the Job has ended",
            &["get", "job", "nightly", "--output=jsonpath={.status.conditions[*].type}"],
            |text| text.contains("Complete") || text.contains("Failed"),
        )?;
        self.node.kubectl(&["delete", "--filename", &path])?;
        self.node.kubectl(&["delete", "secret", "nightly"])?;
        self.is_nothing_left()
    }
}
