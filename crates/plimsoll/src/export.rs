//! `plimsoll export`: parts of a run file, in formats that other tools read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use archive::{Readable, Stored};
use evidence::run::{Run as _, completed};
use evidence::{Profile, Sampling};

use crate::arguments::ExportArguments;
use crate::confine::Reach;
use crate::failure::{CommandResult, Failure};
use crate::{integrity, outputs};

pub(crate) fn export(arguments: &ExportArguments) -> CommandResult<u8> {
    let source = Readable::at(&arguments.file).map_err(Failure::usage)?;
    let folder = &arguments.profiles;
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))
        .map_err(Failure::usage)?;
    Reach::default().run_file(&source).new_files_in(folder).confine();
    let run = Stored::read(source).map_err(Failure::usage)?;
    let invalid = integrity::state(integrity::verify(&run, &arguments.file)?, &arguments.file)?;
    let profiles = run.profiles().map_err(Failure::own)?;
    if profiles.is_empty() {
        // That there are none may be the change.
        if let Some(code) = invalid {
            return Ok(code);
        }
        let file = arguments.file.display();
        return Err(Failure::usage(anyhow!(
            "{file} has no profiles: ask for some with `[[profiles]]` in the plan"
        )));
    }
    write_profiles(&run, &profiles, folder).map_err(Failure::usage)?;
    Ok(invalid.unwrap_or(0))
}

/// Writes each profile as it was captured, and prints what it covers.
fn write_profiles(run: &Stored, profiles: &[Profile], folder: &Path) -> anyhow::Result<()> {
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    let mut text = String::new();
    for profile in profiles {
        let name = file_name(profile, &mut names);
        let path = folder.join(&name);
        // An existing file is not overwritten.
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).open(&path);
        let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
        std::io::Write::write_all(&mut file, &profile.bytes)
            .with_context(|| format!("cannot write {}", path.display()))?;
        text.push_str(&format!("{name}  {}\n", covers(run, profile)?));
    }
    outputs::print(&text).map_err(|failure| anyhow!("{failure}"))?;
    Ok(())
}

fn covers(run: &Stored, profile: &Profile) -> anyhow::Result<String> {
    let (begin, end) = (profile.begin.second(), profile.end.second());
    let off = match profile.sampling {
        Sampling::On => "",
        Sampling::Off => "; sampling was off: it contains no samples",
        Sampling::Unknown => "; it is not known whether sampling was on",
    };
    if begin == end {
        return Ok(format!("since the process began, at {begin} s{off}"));
    }
    let rows = completed(run, &(begin..end))?;
    let ok: u64 = rows.iter().map(|row| row.ok).sum();
    let failed: u64 = rows.iter().map(|row| row.failed).sum();
    Ok(format!("{begin} s to {end} s: {ok} requests succeeded, {failed} failed{off}"))
}

/// `TARGET-KIND-MARK.pb.gz`, with `-begin` for what was taken at a window's beginning, and a number from the second on.
fn file_name(profile: &Profile, taken: &mut BTreeMap<String, u32>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let end = if profile.begin == profile.end { "-begin" } else { "" };
    let stem: String =
        format!("{}-{}-{}{end}", profile.target, profile.kind, profile.mark).chars().map(plain).collect();
    let count = taken.entry(stem.clone()).or_insert(0);
    *count += 1;
    match *count {
        1 => format!("{stem}.pb.gz"),
        number => format!("{stem}-{number}.pb.gz"),
    }
}
