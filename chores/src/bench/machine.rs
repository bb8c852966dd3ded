//! The day, the machine, the versions and the command of a benchmark.

use std::fs;
use std::process::Command;

use super::table::Table;
use xtask::workspace::Workspace;

/// The day, the machine, the versions and the command, as remarks.
pub(super) fn describe(workspace: &Workspace) -> Table {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let model = model(&read("/proc/cpuinfo"));
    let load = read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ");
    let profile = workspace.profile().first().map_or("the development profile", |_| "--release");
    let notes = vec![
        format!("date: {}", output(Command::new("date").args(["--utc", "+%F"]))),
        format!("machine: {cores} cores ({model}), Linux {}", read("/proc/sys/kernel/osrelease").trim()),
        format!("load of the machine when it began: {load}"),
        format!("versions: {}, commit {}", version(workspace), commit(workspace)),
        format!(
            "built with {profile}; command: `{}`",
            std::env::args().skip(1).fold("cargo xtask".to_owned(), |line, word| line + " " + &word)
        ),
    ];
    Table { notes, ..Table::default() }
}

fn model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or("unknown", |(_, name)| name.trim()).to_owned()
}

fn version(workspace: &Workspace) -> String {
    output(Command::new(workspace.binary("plimsoll")).arg("--version"))
}

fn commit(workspace: &Workspace) -> String {
    output(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(workspace.root()))
}

fn output(command: &mut Command) -> String {
    let output = command.output().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    output.ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_the_name_that_the_kernel_reports() {
        assert_eq!(
            model("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nmodel name\t: OtherTool\n"),
            "Some CPU @ 3 GHz"
        );
        assert_eq!(model(""), "unknown");
    }
}
