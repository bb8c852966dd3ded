//! Fetches the run file out of its pod: streamed, checked by its digest, and put in its place only when it is whole.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::run_file::RunFilePolicy;
use conduct::screen::note;
use conduct::writable;
use evidence::Run as _;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::follow::Followed;
use crate::kubectl::{Kubectl, succeeded};

const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_secs(2);
const PART_BYTES: usize = 64 << 10;

/// Where the run file is to be.
pub struct Destination<'a> {
    /// None: named after the plan and the time.
    pub path: Option<&'a Path>,
    /// Whether a file that is there is replaced.
    pub force: bool,
}

impl Destination<'_> {
    /// Fetch the file, and return where it is.
    pub(crate) fn fetch(&self, kubectl: &Kubectl, run: &Followed) -> CommandResult<PathBuf> {
        let folder = self.path.map_or(Path::new("."), writable::folder);
        let mut tries = 1;
        let file = loop {
            match receive(kubectl, run, folder) {
                Ok(file) => break file,
                Err(error) if tries < TRIES => {
                    note(format_args!(
                        "the run file was not received whole, and is fetched again: {error:#}"
                    ));
                    tries += 1;
                    thread::sleep(BETWEEN_TRIES);
                }
                Err(error) => return Err(Failure::own(error.context("the run file cannot be fetched"))),
            }
        };
        self.keep(file)
    }

    fn keep(&self, file: NamedTempFile) -> CommandResult<PathBuf> {
        let keep = self.path.map_or(RunFilePolicy::ByName, RunFilePolicy::At);
        let path = {
            let run = Stored::open(file.path()).map_err(Failure::own)?;
            keep.file(run.manifest())?.path().to_owned()
        };
        let kept = if self.force { file.persist(&path) } else { file.persist_noclobber(&path) };
        kept.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::own)?;
        Ok(path)
    }
}

/// The file, whole, in `folder`.
fn receive(kubectl: &Kubectl, run: &Followed, folder: &Path) -> anyhow::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(".fetched-").suffix(".plimsoll").tempfile_in(folder)?;
    let mut child =
        kubectl.start_in_pod(&run.pod, "send").map_err(|failure| anyhow!("{}", &*failure.text()))?;
    let mut output = child.stdout.take().context("kubectl has no output")?;
    let copied = copy(&mut output, file.as_file_mut(), run.file.bytes);
    drop(output);
    // What went wrong there is a better reason than what it did here.
    succeeded(child.wait_with_output()?, "kubectl exec")?;
    let (bytes, digest) = copied?;
    if (bytes, digest.as_str()) != (run.file.bytes, run.file.digest.as_str()) {
        return Err(anyhow!("{bytes} bytes of {} with the digest {digest}", run.file.bytes));
    }
    file.as_file().sync_all()?;
    Ok(file)
}

/// How much was received, and its digest; never more than was announced.
fn copy(from: &mut impl Read, to: &mut impl Write, announced: u64) -> anyhow::Result<(u64, String)> {
    let (mut bytes, mut digest, mut part) = (0, Sha256::new(), vec![0; PART_BYTES]);
    loop {
        let read = from.read(&mut part)?;
        if read == 0 {
            let digits = hex::encode(digest.finalize());
            return Ok((bytes, digits));
        }
        bytes += read as u64;
        if bytes > announced {
            return Err(anyhow!("more than the {announced} bytes that were announced"));
        }
        digest.update(&part[..read]);
        to.write_all(&part[..read])?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_received_than_was_announced() {
        let mut kept = Vec::new();
        let (bytes, digest) = copy(&mut b"abc".as_slice(), &mut kept, 3).unwrap();
        assert_eq!((bytes, kept.as_slice()), (3, b"abc".as_slice()));
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(copy(&mut b"abcd".as_slice(), &mut Vec::new(), 3).is_err());
    }
}
