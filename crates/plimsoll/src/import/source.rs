//! What an imported run's manifest says of where it comes from.

use std::collections::BTreeSet;

use anyhow::ensure;
use evidence::{Missing, Source, SourceFigure};
use import::Format;
use report::number;

use super::{Surveyed, unread};

/// No tool that is read keeps any of these.
const ALWAYS: [Missing; 8] = [
    Missing::DueTimes,
    Missing::Arrivals,
    Missing::Drops,
    Missing::Model,
    Missing::GeneratorLoad,
    Missing::TimeLimits,
    Missing::TargetIdentity,
    Missing::Environment,
];

/// The source that `files` are; at least one.
pub(super) fn of(files: &[Surveyed]) -> anyhow::Result<Source> {
    let tools: BTreeSet<&str> = files.iter().map(|file| file.format.tool()).collect();
    ensure!(
        tools.len() == 1,
        "these files are by different tools ({}): import each run separately",
        tools.into_iter().collect::<Vec<_>>().join(", ")
    );
    let formats: BTreeSet<String> = files.iter().map(|file| file.format.to_string()).collect();
    let mut source = Source {
        tool: files[0].format.tool().to_owned(),
        format: formats.into_iter().collect::<Vec<_>>().join(" and "),
        files: files.iter().map(name).collect(),
        missing: missing(files),
        ..Source::default()
    };
    let have_figures = files.iter().filter(|file| file.format.has_figures()).count();
    for file in files {
        let Surveyed { survey, reading, .. } = file;
        source.figures.extend(survey.figures.iter().cloned().map(|figure| match have_figures {
            // Figures of several machines are not figures of the run.
            2.. => SourceFigure { of: format!("{} of {}", figure.of, name(file)), ..figure },
            _ => figure,
        }));
        source.summaries.extend(survey.summaries.iter().cloned());
        source.facts.extend(survey.facts.clone());
        source.remarks.extend(survey.remarks.iter().cloned());
        if survey.figures_left_out > 0 {
            source.remarks.push(format!(
                "{} figures of {} are left out",
                survey.figures_left_out,
                name(file)
            ));
        }
        if !survey.unknown.is_empty() {
            let names: Vec<&str> = survey.unknown.iter().map(String::as_str).collect();
            source.remarks.push(format!("metrics that are not imported: {}", names.join(", ")));
        }
        if survey.is_in_whole_seconds() {
            let name = name(file);
            source
                .remarks
                .push(format!("times in {name} are whole seconds: the run may be up to 2 s shorter"));
        }
        if survey.longer_than_an_hour > 0 {
            let count = number::count(survey.longer_than_an_hour);
            source
                .remarks
                .push(format!("{count} times in {} are longer than 1 h and count as 1 h", name(file)));
        }
        if reading.rejoined > 0 {
            source.remarks.push(format!(
                "{} records of {} whose texts have line ends or delimiters without quotes were put together again",
                number::count(reading.rejoined),
                name(file)
            ));
        }
        source.malformed += reading.malformed + survey.contradictory;
        let malformed = reading.first_malformed();
        let malformed = malformed.map(|(at, why)| format!("line {at} of {}: {why}", name(file)));
        source.unread.extend(reading.first.iter().map(|record| unread::line(&name(file), record)));
        let left_out = survey.first_contradictory.as_ref().map(|why| format!("{}: {why}", name(file)));
        source.first_malformed = source.first_malformed.or(malformed).or(left_out);
    }
    if files.iter().all(|file| file.survey.span().is_none()) {
        source.remarks.push("when the run was is not in the file; its date here means nothing".to_owned());
    }
    source.remarks.extend(cut(files));
    source.unknown = unread::unknown(files);
    Ok(source)
}

fn missing(files: &[Surveyed]) -> BTreeSet<Missing> {
    let mut missing = BTreeSet::from(ALWAYS);
    if files.iter().all(|file| !file.format.is_detailed() || file.survey.dated == 0) {
        missing.extend([Missing::Distributions, Missing::Outcomes]);
    }
    if files[0].format == Format::HdrLog {
        missing.insert(Missing::Outcomes);
    }
    missing
}

/// Why the run broke off as far as these files show it: one ends in the middle of a record, or nothing limits how much of
/// it is missing.
pub(super) fn cut(files: &[Surveyed]) -> Option<String> {
    let cut = files.iter().find_map(|file| Some((file, file.reading.cut?)));
    let cut = cut.map(|(file, at)| {
        format!("{} ends in the middle of line {at}; what came after is not here", name(file))
    });
    let open_ended = || {
        let open = files.iter().find_map(|file| Some((file, file.reading.open_ended.as_ref()?)));
        open.map(|(file, why)| format!("{} is not whole: {why}", name(file)))
    };
    cut.or_else(open_ended)
}

/// The name of a file without its folder.
pub(super) fn name(file: &Surveyed) -> String {
    file.path
        .file_name()
        .map_or_else(|| file.path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
