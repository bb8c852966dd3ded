//! Where the code of targets waits, by the block and mutex profiles of a run.

use evidence::diagnosis::CodeWait;
use evidence::run::{ReadError, completed};
use evidence::{Profile, ProfileKind, Run};

/// The waits at lines of the targets' own code, for each completion in the window of their profile; the longest first. A profile that
/// cannot be read is as good as none: the target sent it.
pub(crate) fn of(run: &dyn Run) -> Result<Vec<CodeWait>, ReadError> {
    let profiles = run.profiles()?;
    let mut waits = Vec::new();
    let is_of_waits = |profile: &&Profile| {
        matches!(profile.kind, ProfileKind::Block | ProfileKind::Mutex) && profile.begin < profile.end
    };
    for profile in profiles.iter().filter(is_of_waits) {
        let window = profile.begin.second()..profile.end.second();
        let ended: u64 = completed(run, &window)?.iter().map(|row| row.ok + row.failed).sum();
        let begin = profiles.iter().find(|other| is_beginning(other, profile));
        let Some(lines) = lines(profile, begin).filter(|_| ended > 0) else { continue };
        waits.extend(lines.into_iter().map(|line| CodeWait {
            target: profile.target.clone(),
            profile: profile.kind.to_string(),
            place: line.place,
            wait_s: line.seconds / ended as f64,
        }));
    }
    waits.sort_by(|a, b| b.wait_s.total_cmp(&a.wait_s));
    Ok(waits)
}

/// Whether `other` is what had been counted when the window of `profile` began.
fn is_beginning(other: &Profile, profile: &Profile) -> bool {
    let of = |profile: &Profile| (profile.target.clone(), profile.kind, profile.mark.clone());
    of(other) == of(profile) && other.begin == other.end && other.end <= profile.begin
}

fn lines(profile: &Profile, begin: Option<&Profile>) -> Option<Vec<profile::LineWait>> {
    let end = profile::read(&profile.bytes).ok()?;
    let since = match begin {
        Some(begin) => profile::since(&profile::read(&begin.bytes).ok()?, &end).ok()?,
        None => end,
    };
    Some(profile::request_waits(&since))
}
