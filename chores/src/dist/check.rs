//! Installs each package into a root of its own that contains nothing else, and uses the tool there against a server
//! outside of it.

mod roots;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use peers::nginx::Nginx;
use tempfile::TempDir;

use super::options::TOOL;
use crate::steps::{self, printed};
use roots::Root;

/// Of the program on disk: 27.7 MB, of which the drawing of PNG takes 2.3.
const MOST_BYTES: u64 = 28_000_000;
const REQUESTS: u64 = 100;

/// Installs a package into an empty folder.
type Install = fn(package: &Path, place: &Path) -> Result<Root>;

/// What the names of packages end with.
const INSTALLERS: [(&str, Install); 4] = [
    (".tar.gz", roots::unpacked),
    (".deb", roots::debian),
    (".whl", roots::virtual_environment),
    ("-image.tar", roots::image),
];

/// Tries every package among `files`, which are in `folder`.
///
/// # Errors
/// At the first one that does not do what it is for; when this is not run as root, or nginx is missing.
pub(super) fn all(folder: &Path, files: &[String]) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "--check changes roots, which only root may");
    let target = Nginx::start_configured(configuration).context("the server to load")?;
    let url = format!("http://127.0.0.1:{}/", target.http1_port());
    steps::step("check: program", || program(&folder.join(TOOL)))?;
    let empty = TempDir::new().context("cannot make a folder")?;
    steps::step("check: nothing but the program", || {
        let root = roots::bare(&folder.join(TOOL), empty.path())?;
        use_tool(&root, &url)?;
        use_tool(&root, &format!("http://{}:{}/", roots::NAME, target.http1_port()))
    })?;
    for (ending, install) in INSTALLERS {
        let name = files.iter().find(|file| file.ends_with(ending));
        let name = name.with_context(|| format!("no file ends with {ending}"))?;
        steps::step(&format!("check: {name}"), || {
            let place = TempDir::new().context("cannot make a folder")?;
            let root = install(&folder.join(name), place.path())?;
            use_tool(&root, &url)?;
            if let Some(share) = &root.share {
                read_shared_files(share)?;
            }
            root.remove()
        })?;
    }
    steps::step("check: digests", || {
        let mut sums = Command::new("sha256sum");
        sums.current_dir(folder).args(["--check", "--quiet", super::DIGESTS]);
        steps::run(sums)
    })
}

fn configuration(folder: &Path, [port]: [u16; 1]) -> String {
    let folder = folder.display();
    format!(
        "pid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\n  access_log off;\n  \
         server {{ listen 127.0.0.1:{port}; location / {{ return 200 hello; }} }}\n}}\n"
    )
}

fn program(path: &Path) -> Result<()> {
    let size = fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?.len();
    println!("plimsoll: {:.1} MB", size as f64 / 1e6);
    ensure!(size <= MOST_BYTES, "the program has {size} bytes, more than {MOST_BYTES}");
    Ok(())
}

/// The version, and a load whose every request is in the report.
fn use_tool(root: &Root, url: &str) -> Result<()> {
    let version = printed(root.tool().arg("--version"))?;
    ensure!(version.starts_with("plimsoll "), "--version printed {version:?}");
    let mut load = root.tool();
    load.args(["http", url, "-r", "50", "-z", "2s", "--json", "-"]);
    let report: serde_json::Value = serde_json::from_str(&printed(&mut load)?).context("the report")?;
    let counts = &report["accounting"];
    ensure!(counts["ok"] == REQUESTS, "{REQUESTS} requests were due: {counts}");
    println!("{}: {REQUESTS} requests, {}", version.trim(), report["verdict"]);
    Ok(())
}

/// `man` formats the pages, and shells read their completions.
fn read_shared_files(share: &Path) -> Result<()> {
    let pages = share.join("man/man1");
    let mut formatted = 0;
    for entry in fs::read_dir(&pages).with_context(|| format!("cannot list {}", pages.display()))? {
        let page = entry?.path();
        let shown = printed(Command::new("man").arg("-l").arg(&page).env("LC_ALL", "C.UTF-8"))?;
        ensure!(shown.contains("SYNOPSIS"), "{} shows nothing", page.display());
        formatted += 1;
    }
    printed(Command::new("bash").arg("-n").arg(share.join("bash-completion/completions/plimsoll")))?;
    println!("{formatted} manual pages, and completions that bash reads");
    Ok(())
}
