//! A Python wheel that carries the program, so that `pip install` puts `plimsoll` on the path. Its name is not `plimsoll`, which is
//! another project's on PyPI.
//! The format: <https://packaging.python.org/en/latest/specifications/binary-distribution-format/>.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use sha2::{Digest as _, Sha256};

use super::release::{DESCRIPTION, LICENCE, Release, SUMMARY};
use super::tree::{DATE, FileTree};

/// The name of the distribution.
const NAME: &str = "plimsoll-load";
/// The same in file names, where a hyphen separates parts.
const FILE_NAME: &str = "plimsoll_load";

/// `plimsoll_load-0.1.0-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl`.
pub(super) fn file_name(release: &Release) -> String {
    format!("{FILE_NAME}-{}-py3-none-{}.whl", release.version, release.platform.wheel.join("."))
}

/// The wheel.
///
/// # Errors
/// When an entry does not fit into a zip archive.
pub(super) fn wheel(release: &Release) -> Result<Vec<u8>> {
    let information = format!("{FILE_NAME}-{}.dist-info", release.version);
    let contents = contents(release, &information);
    let record = record(&contents, &information);
    // The record comes last, as the specification recommends.
    let entries = contents.files().chain([(record.0.as_str(), 0o644, record.1.as_bytes())]);
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (path, mode, bytes) in entries {
        add(&mut archive, path, mode, bytes).with_context(|| format!("cannot archive {path}"))?;
    }
    archive.finish().context("cannot end the archive")
}

fn add(archive: &mut ZipArchiveWriter<Vec<u8>>, path: &str, mode: u32, bytes: &[u8]) -> Result<()> {
    let date = UtcDateTime::from_unix(i64::try_from(DATE)?);
    let file = archive.new_file(path).compression_method(CompressionMethod::DEFLATE).last_modified(date);
    let (mut entry, settings) = file.unix_permissions(0o100_000 | mode).start()?;
    let mut writer = settings.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
    writer.write_all(bytes)?;
    let (encoder, descriptor) = writer.finish()?;
    encoder.finish()?;
    entry.finish(descriptor)?;
    Ok(())
}

fn contents(release: &Release, information: &str) -> FileTree {
    let data = format!("{FILE_NAME}-{}.data", release.version);
    let licences = release.licences.iter().fold(FileTree::default(), |tree, (name, text)| {
        tree.file(format!("{information}/licenses/{name}"), text.as_str())
    });
    let tags: String =
        release.platform.wheel.iter().map(|platform| format!("Tag: py3-none-{platform}\n")).collect();
    licences
        .and(release.shared_files().below(&format!("{data}/data")))
        .program(format!("{data}/scripts/plimsoll"), release.program.as_slice())
        .file(format!("{information}/METADATA"), metadata(release))
        .file(
            format!("{information}/WHEEL"),
            format!("Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n{tags}"),
        )
        // PEP 770.
        .file(format!("{information}/sboms/plimsoll.cdx.json"), release.bill.as_str())
}

fn metadata(release: &Release) -> String {
    let files: String = release.licences.iter().map(|(name, _)| format!("License-File: {name}\n")).collect();
    format!(
        "Metadata-Version: 2.4\nName: {NAME}\nVersion: {}\nSummary: {SUMMARY}\n\
         License-Expression: {LICENCE}\n{files}Requires-Python: >=3.7\nDescription-Content-Type: text/plain\n\n\
         {DESCRIPTION}\n",
        release.version
    )
}

/// The path of `RECORD` and its text: each file with its digest and size; itself without.
fn record(contents: &FileTree, information: &str) -> (String, String) {
    let path = format!("{information}/RECORD");
    let lines = contents.files().map(|(path, _, bytes)| {
        format!("{path},sha256={},{}\n", URL_SAFE_NO_PAD.encode(Sha256::digest(bytes)), bytes.len())
    });
    let text = lines.chain([format!("{path},,\n")]).collect();
    (path, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::process::Command;

    /// Reads a wheel as Python does: name, mode and digest of each entry, and the text of `RECORD`.
    const READ: &str = "import base64, hashlib, sys, zipfile\n\
        wheel = zipfile.ZipFile(sys.argv[1])\n\
        assert wheel.testzip() is None\n\
        for entry in wheel.infolist():\n\
        \x20   digest = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(entry)).digest()).decode().rstrip('=')\n\
        \x20   print(entry.filename, oct(entry.external_attr >> 16), entry.date_time[0], digest)\n";

    #[test]
    fn the_name_has_the_tags_of_every_c_library() {
        let name = file_name(&Release::sample());
        assert_eq!(name, "plimsoll_load-1.2.3-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl");
    }

    #[test]
    fn the_record_has_the_digest_and_the_size_of_every_file() {
        let release = Release::sample();
        let contents = contents(&release, "plimsoll_load-1.2.3.dist-info");
        let (path, text) = record(&contents, "plimsoll_load-1.2.3.dist-info");
        assert_eq!(path, "plimsoll_load-1.2.3.dist-info/RECORD");
        // printf '{}' | openssl dgst -sha256 -binary | base64
        let bill = "plimsoll_load-1.2.3.dist-info/sboms/plimsoll.cdx.json,sha256=RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o,2\n";
        assert!(text.contains(bill), "{text}");
        assert!(text.ends_with("plimsoll_load-1.2.3.dist-info/RECORD,,\n"), "{text}");
        assert_eq!(text.lines().count(), contents.files().count() + 1);
    }

    #[test]
    fn the_same_release_gives_the_same_wheel() {
        assert_eq!(wheel(&Release::sample()).expect("packed"), wheel(&Release::sample()).expect("packed"));
    }

    /// Python's own reader, where it is installed.
    #[test]
    fn python_reads_what_the_record_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.whl");
        std::fs::write(&path, wheel(&Release::sample()).expect("packed")).expect("written");
        let Ok(read) = Command::new("python3").args(["-c", READ]).arg(&path).output() else { return };
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        let read = String::from_utf8_lossy(&read.stdout).into_owned();
        let entries: BTreeMap<&str, Vec<&str>> = read
            .lines()
            .map(|line| line.split_once(' ').expect("words"))
            .map(|(path, rest)| (path, rest.split(' ').collect()))
            .collect();
        assert_eq!(entries["plimsoll_load-1.2.3.data/scripts/plimsoll"][..2], ["0o100755", "1980"]);
        let (_, record) = record(
            &contents(&Release::sample(), "plimsoll_load-1.2.3.dist-info"),
            "plimsoll_load-1.2.3.dist-info",
        );
        for line in record.lines().filter(|line| !line.ends_with(",,")) {
            let (path, rest) = line.split_once(",sha256=").expect("a digest");
            assert_eq!(entries[path][2], rest.split(',').next().expect("a digest"), "{path}");
        }
    }
}
