//! What is shipped: release binaries without symbols, each with its bill of materials; the tool also as an archive, a
//! Debian package, a Python wheel and an image; and the digests of all files.

mod check;
mod debian;
pub(crate) mod image;
mod materials;
pub(crate) mod options;
mod platform;
mod release;
pub(crate) mod tree;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::steps;
use options::{Options, TOOL};
use platform::Platform;
use release::{Completions, Release};
use xtask::workspace::Workspace;

const FOLDER: &str = "dist";
const DIGESTS: &str = "SHA256SUMS";
/// Certificates of public authorities, for the image: Debian's package `ca-certificates`.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Builds what is asked for into `target/chores/dist`.
///
/// # Errors
/// When a build fails, or a package does not do what it is for.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let folder = workspace.scratch(FOLDER)?;
    let mut files = Vec::new();
    let names = options.binaries();
    for name in &names {
        steps::step(&format!("dist: {name}"), || {
            ship_binary(workspace, name, options.target, &folder.join(name))?;
            let bill = bill_of_materials(workspace, name)?;
            write(&folder.join(materials::file_name(name)), bill.as_bytes())
        })?;
        files.extend([(*name).to_owned(), materials::file_name(name)]);
    }
    if names.iter().any(|name| name == TOOL) {
        files.extend(steps::step("dist: packages", || pack(workspace, &folder, options.target))?);
    }
    let digests = digests(&folder, &files)?;
    write(&folder.join(DIGESTS), digests.as_bytes())?;
    print!("{digests}");
    println!("dist: in {}", folder.display());
    if options.check {
        check::all(&folder, &files)?;
    }
    Ok(())
}

fn digests(folder: &Path, files: &[String]) -> Result<String> {
    let line = |file: &String| {
        let bytes = fs::read(folder.join(file)).with_context(|| format!("cannot read {file}"))?;
        Ok(format!("{}  {file}\n", hex::encode(Sha256::digest(bytes))))
    };
    files.iter().map(line).collect()
}

/// Makes every package of the tool, and returns their names.
fn pack(workspace: &Workspace, folder: &Path, platform: Platform) -> Result<Vec<String>> {
    let release = release(workspace, folder, platform)?;
    let authorities = fs::read(AUTHORITIES).with_context(|| {
        format!("cannot read {AUTHORITIES}, which the image needs: install ca-certificates")
    })?;
    let archive = format!("plimsoll-{}-{}-linux.tar.gz", release.version, platform.architecture);
    let packages = [
        (archive, tree::gzip(&release.unpacked().tar()?)?),
        (debian::file_name(&release), debian::package(&release)?),
        (wheel::file_name(&release), wheel::wheel(&release)?),
        (image::file_name(&release), image::image(&release, &authorities)?),
    ];
    let mut names = Vec::new();
    for (name, bytes) in packages {
        write(&folder.join(&name), &bytes)?;
        names.push(name);
    }
    Ok(names)
}

fn release(workspace: &Workspace, folder: &Path, platform: Platform) -> Result<Release> {
    let program = folder.join(TOOL);
    let text = |name: &str| {
        fs::read_to_string(workspace.root().join(name)).with_context(|| format!("cannot read {name}"))
    };
    let printed = |arguments: &[&str]| steps::printed(Command::new(&program).args(arguments));
    let completions = |shell: &str| printed(&["completions", shell]);
    let version = printed(&["--version"])?;
    Ok(Release {
        version: version.trim().trim_start_matches("plimsoll ").to_owned(),
        platform,
        pages: pages(workspace, &program)?,
        completions: Completions {
            bash: completions("bash")?,
            zsh: completions("zsh")?,
            fish: completions("fish")?,
        },
        licences: ["LICENSE-APACHE", "LICENSE-MIT"]
            .into_iter()
            .map(|name| Ok((name, text(name)?)))
            .collect::<Result<_>>()?,
        changelog: text("CHANGELOG.md")?,
        bill: fs::read_to_string(folder.join(materials::file_name(TOOL))).context("cannot read the bill")?,
        program: fs::read(&program).context("cannot read the program")?,
    })
}

/// The manual pages that the program writes, in order.
fn pages(workspace: &Workspace, program: &Path) -> Result<Vec<(String, String)>> {
    let folder = workspace.scratch("dist-man")?;
    let mut command = Command::new(program);
    command.args(["man", "--dir"]).arg(&folder);
    steps::run(command)?;
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .context("cannot list the manual pages")?;
    paths.sort();
    let page = |path: &PathBuf| {
        let name = path.file_name().context("it has a name")?.to_string_lossy().into_owned();
        Ok((name, fs::read_to_string(path).context("cannot read a manual page")?))
    };
    paths.iter().map(page).collect()
}

/// Services run in images that have a C library. The tool runs anywhere, so it contains its own.
fn ship_binary(workspace: &Workspace, name: &str, platform: Platform, to: &Path) -> Result<()> {
    let mut build = workspace.cargo();
    build.args(["build", "--locked", "--package", name, "--message-format", "json-render-diagnostics"]);
    if name == TOOL {
        build.env(SMALLER_TLS.0, SMALLER_TLS.1).env("PLIMSOLL_COMMIT", commit(workspace)?);
        build.args(["--profile", "dist", "--target", platform.triple, "--config"]);
        build.arg(format!("target.{}.rustflags={}", platform.triple, platform.flags));
    } else {
        build.arg("--release");
    }
    let built = executable(&steps::printed(build.stderr(Stdio::inherit()))?, name)
        .with_context(|| format!("cargo built no binary `{name}`"))?;
    let mut install = Command::new("install");
    install.args(["--strip", "--mode=755"]).arg(&built).arg(to);
    steps::run(install)
}

/// The commit that is built, which `--version` names; with `+` where files differ from it.
fn commit(workspace: &Workspace) -> Result<String> {
    let mut describe = Command::new("git");
    describe.current_dir(workspace.root()).args([
        "describe",
        "--always",
        "--exclude=*",
        "--abbrev=8",
        "--dirty=+",
    ]);
    Ok(steps::printed(&mut describe)?.trim().to_owned())
}

/// AWS-LC without its code for AVX-512, two functions of which have 0.7 MB: TLS uses AES-NI and AVX2 instead.
const SMALLER_TLS: (&str, &str) = ("AWS_LC_SYS_CFLAGS", "-DMY_ASSEMBLER_IS_TOO_OLD_FOR_512AVX");

/// The path of a binary in cargo's messages.
fn executable(messages: &str, name: &str) -> Option<String> {
    messages.lines().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name && message["target"]["kind"][0] == "bin";
        is_it.then(|| message["executable"].as_str().map(str::to_owned)).flatten()
    })
}

/// Of what is compiled into the binary or runs while it is built.
fn bill_of_materials(workspace: &Workspace, name: &str) -> Result<String> {
    let mut tree = workspace.cargo();
    tree.args(["tree", "--locked", "--package", name, "--edges", "normal,build", "--prefix", "depth"]);
    tree.args(["--format", materials::FORMAT]);
    let tree = steps::printed(tree.stderr(Stdio::inherit()))?;
    let lock = fs::read_to_string(workspace.root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    materials::cyclonedx(&tree, &lock)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_among_the_messages_of_cargo() {
        let messages = concat!(
            "{\"target\":{\"name\":\"gateway\",\"kind\":[\"lib\"]},\"executable\":null}\n",
            "{\"target\":{\"name\":\"gateway\",\"kind\":[\"bin\"]},\"executable\":\"/t/release/gateway\"}\n",
            "{\"reason\":\"build-finished\"}\n"
        );
        assert_eq!(executable(messages, "gateway").as_deref(), Some("/t/release/gateway"));
        assert_eq!(executable(messages, "plimsoll"), None);
    }

    #[test]
    fn the_bill_of_this_tree_has_every_package_with_its_licence_and_digest() {
        let workspace = Workspace::find().expect("tests run in the workspace");
        let bill = bill_of_materials(&workspace, "plimsoll").expect("cargo can list it");
        let bill: serde_json::Value = serde_json::from_str(&bill).expect("it is JSON");
        let components = bill["components"].as_array().expect("a list");
        let named = |name: &str| components.iter().find(|component| component["name"] == name);
        assert!(named("rusqlite").is_some() && named("engine").is_some() && named("tonic").is_none());
        for component in components {
            assert!(component["licenses"][0]["expression"].is_string(), "{component}");
            let is_foreign = component["purl"].is_string();
            assert_eq!(component["hashes"][0]["content"].is_string(), is_foreign, "{component}");
        }
    }
}
