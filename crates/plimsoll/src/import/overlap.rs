//! Files that have the same requests: added up, each request would count twice.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use report::number;

use super::{Surveyed, source};

/// Files of different machines have no more records in common than this share of the smaller file.
const SHARED_BY_CHANCE: f64 = 0.1;

/// Refuse a file that is named twice, by whatever name, and copies.
///
/// # Errors
/// For the first such pair.
pub(super) fn refuse_copies(paths: &[PathBuf]) -> anyhow::Result<()> {
    for (at, path) in paths.iter().enumerate() {
        for other in &paths[..at] {
            // What cannot be read is refused where it is read.
            let (Ok(one), Ok(two)) = (fs::metadata(other), fs::metadata(path)) else { continue };
            let names = || format!("{} and {}", other.display(), path.display());
            ensure!(
                !is_same_file(&one, &two),
                "{} are the same file, so its requests would count twice: name it once",
                names()
            );
            if one.is_file() && two.is_file() && one.len() == two.len() && one.len() > 0 {
                let is_copy = has_same_content(other, path).with_context(names)?;
                ensure!(
                    !is_copy,
                    "{} have the same content, so its requests would count twice: name one of them, once",
                    names()
                );
            }
        }
    }
    Ok(())
}

fn is_same_file(one: &Metadata, two: &Metadata) -> bool {
    (one.dev(), one.ino()) == (two.dev(), two.ino())
}

fn has_same_content(one: &Path, two: &Path) -> io::Result<bool> {
    let (mut one, mut two) = (BufReader::new(File::open(one)?), BufReader::new(File::open(two)?));
    loop {
        let (left, right) = (one.fill_buf()?, two.fill_buf()?);
        let length = left.len().min(right.len());
        if length == 0 {
            return Ok(left.len() == right.len());
        }
        if left[..length] != right[..length] {
            return Ok(false);
        }
        one.consume(length);
        two.consume(length);
    }
}

/// Refuse files that have the same requests or the same figures in other words, or in part.
///
/// # Errors
/// For the first such pair.
pub(super) fn refuse_overlaps(files: &[Surveyed]) -> anyhow::Result<()> {
    for (at, file) in files.iter().enumerate() {
        for other in &files[..at] {
            refuse_overlap(other, file)?;
        }
    }
    Ok(())
}

fn refuse_overlap(one: &Surveyed, two: &Surveyed) -> anyhow::Result<()> {
    let names =
        || format!("{} ({}) and {} ({})", source::name(one), one.format, source::name(two), two.format);
    let are_detailed = one.format.is_detailed() && two.format.is_detailed();
    ensure!(
        !are_detailed || one.format == two.format,
        "{} both have each request of a run, so it would count twice: import one of them; files of different machines \
         have to be in one format",
        names()
    );
    ensure!(
        are_detailed || !one.format.has_figures() || !two.format.has_figures(),
        "{} both have figures of a whole run, which cannot be added up: import one of them",
        names()
    );
    let shared = one.survey.records.share_in(&two.survey.records);
    let (smaller, larger) = if one.survey.dated < two.survey.dated { (one, two) } else { (two, one) };
    ensure!(
        shared <= SHARED_BY_CHANCE,
        "{} of the records of {} are also in {} (the same endpoints, times of day and durations), so they would count \
         twice: import one of them, or files without common records",
        number::whole_percent(shared),
        source::name(smaller),
        source::name(larger)
    );
    Ok(())
}
