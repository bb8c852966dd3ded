//! The profiles of a run, each as it was captured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::standard_output;
use evidence::run::{Run as _, completed};
use evidence::{Profile, ProfileKind, Sampling, TerminalText};

/// Write the profiles of a run, and list them.
pub(super) fn write(run: &Stored, file: &Path, folder: &Path) -> CommandResult<()> {
    let profiles = run.profiles().map_err(Failure::own)?;
    if profiles.is_empty() {
        let file = file.display();
        return Err(Failure::usage(anyhow!(
            "{file} has no profiles: ask for some with `[[profiles]]` in the plan"
        )));
    }
    standard_output::print(&write_profiles(run, &profiles, folder).map_err(Failure::usage)?)
}

/// Writes each profile as it was captured, and returns what it covers. The two of a window that accumulate are listed
/// together, with the commands that subtract them.
fn write_profiles(run: &Stored, profiles: &[Profile], folder: &Path) -> anyhow::Result<TerminalText> {
    let mut names: BTreeMap<String, u32> = BTreeMap::new();
    let paths: Vec<PathBuf> =
        profiles.iter().map(|profile| folder.join(file_name(profile, &mut names))).collect();
    for (profile, path) in profiles.iter().zip(&paths) {
        // An existing file is not overwritten. What was captured is evidence, as the run file is.
        let file = archive::private_file(path);
        file.and_then(|mut file| std::io::Write::write_all(&mut file, &profile.bytes))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let has_end = |begin: &Profile| profiles.iter().any(|end| is_pair(begin, end));
    let mut text = TerminalText::default();
    for (profile, path) in profiles.iter().zip(&paths).filter(|(profile, _)| !has_end(profile)) {
        let begin = profiles.iter().position(|begin| is_pair(begin, profile));
        if let Some(begin) = begin {
            text.line(line(run, &profiles[begin], &paths[begin])?);
        }
        text.line(line(run, profile, path)?);
        if let Some(begin) = begin {
            let (begin, end) = (shell_word(&paths[begin]), shell_word(path));
            text.line(format_args!("  {}; what was added in this time:", window(run, profile)?));
            text.line(format_args!("    go tool pprof -base {begin} {end}"));
            text.line(format_args!("    plimsoll profile {end} --since {begin}"));
        }
    }
    Ok(text)
}

/// Whether `begin` and `end` are the profiles of the beginning and the end of one window.
fn is_pair(begin: &Profile, end: &Profile) -> bool {
    let is_snapshot = begin.begin == begin.end && end.begin < end.end;
    is_snapshot
        && accumulates(end.kind)
        && (&begin.target, begin.kind, &begin.mark) == (&end.target, end.kind, &end.mark)
        && begin.end == end.begin
}

/// Whether profiles of this kind count from the beginning of the process.
fn accumulates(kind: ProfileKind) -> bool {
    matches!(kind, ProfileKind::Heap | ProfileKind::Mutex | ProfileKind::Block)
}

/// A profile's file, and what it covers.
fn line(run: &Stored, profile: &Profile, path: &Path) -> anyhow::Result<String> {
    let sampling = match profile.sampling {
        Sampling::On => "",
        Sampling::Off => "; sampling was off: it contains no samples",
        Sampling::Unknown => "; it is not known whether sampling was on",
    };
    let end = profile.end.second();
    let covers = match profile.kind {
        kind if accumulates(kind) => format!("cumulative, since the process began, at {end} s"),
        ProfileKind::Goroutine => format!("as it was at {end} s"),
        _ => window(run, profile)?,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("{name}  {covers}{sampling}"))
}

/// A profile's window, and the requests that were completed in it.
fn window(run: &Stored, profile: &Profile) -> anyhow::Result<String> {
    let (begin, end) = (profile.begin.second(), profile.end.second());
    let rows = completed(run, &(begin..end))?;
    let ok: u64 = rows.iter().map(|row| row.ok).sum();
    let failed: u64 = rows.iter().map(|row| row.failed).sum();
    Ok(format!("{begin} s to {end} s: {} succeeded, {failed} failed", report::number::counted(ok, "request")))
}

/// `TARGET-KIND-MARK.pb.gz`; of what accumulates `TARGET-KIND-cumulative-MARK-begin.pb.gz`, and `-end`. From the second of
/// its name on with a number.
fn file_name(profile: &Profile, taken: &mut BTreeMap<String, u32>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    let (cumulative, end) = match accumulates(profile.kind) {
        false => ("", ""),
        true if profile.begin == profile.end => ("-cumulative", "-begin"),
        true => ("-cumulative", "-end"),
    };
    let Profile { target, kind, mark, .. } = profile;
    let stem: String = format!("{target}-{kind}{cumulative}-{mark}{end}").chars().map(plain).collect();
    let count = taken.entry(stem.clone()).or_insert(0);
    *count += 1;
    match *count {
        1 => format!("{stem}.pb.gz"),
        number => format!("{stem}-{number}.pb.gz"),
    }
}

/// A path as one word of a shell's command, which no command takes for an option.
fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = if text.starts_with('-') { format!("./{text}") } else { text.into_owned() };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use evidence::Instant;

    use super::*;

    fn profile(kind: ProfileKind, begin_ms: u64, end_ms: u64) -> Profile {
        Profile {
            target: "shop".to_owned(),
            kind,
            mark: "every 10m".to_owned(),
            begin: Instant::from_nanos(begin_ms * 1_000_000),
            end: Instant::from_nanos(end_ms * 1_000_000),
            sampling: Sampling::On,
            bytes: Vec::new(),
        }
    }

    #[test]
    fn what_accumulates_is_named_so() {
        let name = |profile| file_name(&profile, &mut BTreeMap::new());
        assert_eq!(name(profile(ProfileKind::Cpu, 600_000, 630_000)), "shop-cpu-every-10m.pb.gz");
        let begin = profile(ProfileKind::Heap, 600_000, 600_000);
        assert_eq!(name(begin), "shop-heap-cumulative-every-10m-begin.pb.gz");
        let end = profile(ProfileKind::Mutex, 600_000, 630_000);
        assert_eq!(name(end), "shop-mutex-cumulative-every-10m-end.pb.gz");
    }

    #[test]
    fn the_profiles_of_one_window_are_a_pair() {
        let heap = |begin_ms, end_ms| profile(ProfileKind::Heap, begin_ms, end_ms);
        let begin = heap(600_000, 600_000);
        assert!(is_pair(&begin, &heap(600_000, 630_000)));
        assert!(!is_pair(&begin, &heap(1_200_000, 1_230_000)), "of another window");
        assert!(!is_pair(&begin, &profile(ProfileKind::Block, 600_000, 630_000)));
        assert!(!is_pair(&begin, &begin));
    }

    #[test]
    fn paths_are_one_word_of_a_shell() {
        let word = |path: &str| shell_word(Path::new(path));
        assert_eq!(word("out/a-1.pb.gz"), "out/a-1.pb.gz");
        assert_eq!(word("my profiles/it's"), r"'my profiles/it'\''s'");
        assert_eq!(word("-x/a"), "./-x/a");
    }
}
