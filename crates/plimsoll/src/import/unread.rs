//! Records of an import that could not be read, that are missing, or that contradict each other.

use evidence::{UnknownBasis, UnknownRecords, UnknownSubject};
use import::{Survey, UnreadRecord};
use report::number;

use super::{Surveyed, source};

/// `line 3 of a.jtl: 10 columns, the header has 22: 1769000000200,213,Test,…`.
pub(super) fn line(file: &str, record: &UnreadRecord) -> String {
    let UnreadRecord { at, why, text } = record;
    let text = if text.is_empty() { String::new() } else { format!(": {text}") };
    format!("line {at} of {file}: {why}{text}")
}

/// Everything that leaves it unknown how requests of these files ended.
pub(super) fn unknown(files: &[Surveyed]) -> Vec<UnknownRecords> {
    let cut = source::cut(files);
    let surveys: Vec<&Survey> = files.iter().map(|file| &file.survey).collect();
    let mut unknown: Vec<UnknownRecords> = files.iter().flat_map(of_file).collect();
    unknown.extend(cut.as_ref().map(|why| UnknownRecords { more: None, ..any(format!("{why}.")) }));
    unknown.extend(import::contradictions(&surveys, cut.is_some()));
    unknown
}

/// What one file shows by itself.
fn of_file(file: &Surveyed) -> Vec<UnknownRecords> {
    let Surveyed { survey, reading, format, .. } = file;
    let first = reading.first.first().map(|record| line(&source::name(file), record)).unwrap_or_default();
    let why = match reading.malformed {
        1 => format!("One record of the {format} could not be read: {first}."),
        n => format!("{} records of the {format} could not be read; the first is {first}.", number::count(n)),
    };
    let unread = (reading.malformed > 0).then(|| UnknownRecords {
        // The lines of a file with figures alone are not requests.
        more: Some(if format.is_detailed() { reading.malformed } else { 0 }),
        ..any(why)
    });
    let left_out = survey.first_contradictory.as_ref().map(|first| match survey.contradictory {
        1 => any(format!("One figure of {} is impossible: {first}.", source::name(file))),
        n => any(format!(
            "{} figures of {} are impossible; the first: {first}.",
            number::count(n),
            source::name(file)
        )),
    });
    unread.into_iter().chain(left_out).chain(survey.contradictions.iter().cloned()).collect()
}

/// Records that may be of anything.
fn any(why: String) -> UnknownRecords {
    UnknownRecords {
        of: UnknownSubject::Any,
        basis: UnknownBasis::Records,
        scenario: String::new(),
        endpoint: String::new(),
        more: Some(0),
        doubtful: 0,
        why,
    }
}
