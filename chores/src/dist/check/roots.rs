//! How each kind of package is installed into an empty folder, and how the tool is started from there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::dist::image::USER;
use crate::steps::printed;

/// Where a package was installed.
pub(super) struct Root {
    /// What starts the tool, before its arguments.
    start: Vec<String>,
    /// Where manual pages and completions are.
    pub(super) share: Option<PathBuf>,
    /// What removes the package, and a file that must be gone then.
    removal: Option<(Vec<String>, PathBuf)>,
}

impl Root {
    /// Every system has a folder for temporary files.
    fn changed(place: &Path, tool: &str) -> Result<Self> {
        fs::create_dir(place.join("tmp")).context("cannot make a folder")?;
        let start = ["chroot".to_owned(), place.display().to_string(), tool.to_owned()];
        Ok(Self { start: start.to_vec(), share: None, removal: None })
    }

    /// A call of the tool, without the environment of this process.
    pub(super) fn tool(&self) -> Command {
        let mut command = Command::new(&self.start[0]);
        command.args(&self.start[1..]).env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command
    }

    /// Removes the package where its tool can.
    pub(super) fn remove(self) -> Result<()> {
        let Some((call, file)) = self.removal else { return Ok(()) };
        ensure!(file.exists(), "{} was not installed", file.display());
        quietly(Command::new(&call[0]).args(&call[1..]))?;
        ensure!(!file.exists(), "{} is left after removal", file.display());
        Ok(())
    }
}

/// A name of this machine's address that only the bare root knows.
pub(super) const NAME: &str = "target.plimsoll.test";

/// Only the program, and a configuration of names under which the C library would load a module that is not there.
pub(super) fn bare(program: &Path, place: &Path) -> Result<Root> {
    fs::copy(program, place.join("plimsoll")).context("cannot copy the program")?;
    fs::create_dir(place.join("etc")).context("cannot make a folder")?;
    fs::write(place.join("etc/nsswitch.conf"), "hosts: missing [UNAVAIL=return] files\n")
        .and_then(|()| fs::write(place.join("etc/hosts"), format!("127.0.0.1 {NAME}\n")))
        .context("cannot configure names")?;
    Root::changed(place, "/plimsoll")
}

pub(super) fn unpacked(archive: &Path, place: &Path) -> Result<Root> {
    quietly(Command::new("tar").arg("-xzf").arg(archive).args(["--strip-components", "1", "-C"]).arg(place))?;
    Ok(Root { share: Some(place.join("share")), ..Root::changed(place, "/bin/plimsoll")? })
}

/// Installed and later removed by dpkg, whose database is there too. No script of the package needs a shell.
pub(super) fn debian(package: &Path, place: &Path) -> Result<Root> {
    let database = place.join("var/lib/dpkg");
    for folder in ["info", "updates"] {
        fs::create_dir_all(database.join(folder)).context("cannot make a database")?;
    }
    fs::write(database.join("status"), "").context("cannot make a database")?;
    let root = format!("--root={}", place.display());
    quietly(Command::new("dpkg").arg(&root).arg("--install").arg(package))?;
    // It lists what differs, and ends with 0 all the same.
    let changed = printed(Command::new("dpkg").arg(&root).args(["--verify", "plimsoll"]))?;
    ensure!(changed.is_empty(), "dpkg finds other files than the package's: {changed}");
    let removal = ["dpkg", &root, "--purge", "plimsoll"].map(str::to_owned).to_vec();
    Ok(Root {
        share: Some(place.join("usr/share")),
        removal: Some((removal, place.join("usr/bin/plimsoll"))),
        ..Root::changed(place, "/usr/bin/plimsoll")?
    })
}

/// Installed and later removed by pip in a new virtual environment, without a network.
pub(super) fn virtual_environment(wheel: &Path, place: &Path) -> Result<Root> {
    quietly(Command::new("python3").args(["-m", "venv"]).arg(place))?;
    let pip = place.join("bin/pip").display().to_string();
    quietly(
        Command::new(&pip)
            .args(["install", "--quiet", "--no-index", "--disable-pip-version-check"])
            .arg(wheel),
    )?;
    let tool = place.join("bin/plimsoll");
    let removal = [&pip, "uninstall", "--quiet", "--yes", "plimsoll-load"].map(str::to_owned).to_vec();
    Ok(Root {
        start: vec![tool.display().to_string()],
        share: Some(place.join("share")),
        removal: Some((removal, tool)),
    })
}

/// The layers of the image, one over the other, started as its configuration says: by an unprivileged user.
pub(super) fn image(archive: &Path, place: &Path) -> Result<Root> {
    let layout = place.join("layout");
    let root = place.join("root");
    for folder in [&layout, &root] {
        fs::create_dir(folder).context("cannot make a folder")?;
    }
    quietly(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&layout))?;
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().context("a descriptor has no digest")?;
        Ok::<_, anyhow::Error>(layout.join("blobs").join(digest.replace(':', "/")))
    };
    let index = json(&layout.join("index.json"))?;
    let manifest = json(&blob(&index["manifests"][0])?)?;
    let config = json(&blob(&manifest["config"])?)?;
    for layer in manifest["layers"].as_array().context("the manifest has no layers")? {
        quietly(
            Command::new("tar").args(["--numeric-owner", "-xpzf"]).arg(blob(layer)?).arg("-C").arg(&root),
        )?;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned).context("the configuration is not whole");
    let config = &config["config"];
    let user = text(&config["User"])?;
    ensure!(user == format!("{USER}:{USER}"), "the image's user is {user}");
    // `chroot` begins in `/`; the working folder of the image must be writable for the user.
    let folder = text(&config["WorkingDir"])?;
    let owner = fs::metadata(root.join(folder.trim_start_matches('/'))).context("the image's folder")?;
    ensure!(u64::from(std::os::unix::fs::MetadataExt::uid(&owner)) == USER, "{folder} is not the user's");
    let tool = text(&config["Entrypoint"][0])?;
    let start = ["chroot".to_owned(), format!("--userspec={user}"), root.display().to_string(), tool];
    Ok(Root { start: start.to_vec(), share: None, removal: None })
}

fn json(path: &Path) -> Result<Value> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))
}

fn quietly(command: &mut Command) -> Result<()> {
    printed(command).map(drop)
}
