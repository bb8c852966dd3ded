//! `plimsoll import`: what another tool wrote, as a run file that names what its source could not know.

mod intent;
mod overlap;
mod source;
mod totals;
mod unread;

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use archive::Writer;
use conduct::confine::Reach;
use conduct::failure::{CommandResult, Failure};
use conduct::file_kind::{self, FileKind};
use conduct::run_file::RunFilePolicy;
use conduct::run_request::overwrite;
use conduct::{clock, judged, manifest};
use evidence::{Ending, Manifest, RunEnd, Sink as _, Source};
use import::{Filler, Format, HEAD_BYTES, ImportError, Reading, RunSpan, Survey};
use jiff::Timestamp;
use workload::{Objective, Phase, Workload};

use crate::arguments::ImportArguments;
use crate::outputs::{self, PreopenedReports};
use intent::Intent;

/// The longest run that a run file can hold, in seconds.
const MAX_SECONDS: u32 = 31 * 86_400;
/// In nanoseconds since 1970.
const YEAR_1971_NS: i64 = 365 * 86_400 * 1_000_000_000;

/// An input file, with what the first pass over it found.
pub(crate) struct Surveyed {
    path: PathBuf,
    format: Format,
    survey: Survey,
    reading: Reading,
}

pub(crate) fn import(arguments: &ImportArguments) -> CommandResult<u8> {
    let keep = arguments.output.as_deref().map_or(RunFilePolicy::ByName, RunFilePolicy::At);
    if !arguments.force {
        keep.refuse_existing()?;
    }
    // Before what follows confines the process: a file that is missing may have neighbours.
    if arguments.format.is_none() {
        let accepted = [FileKind::Results, FileKind::Csv];
        arguments.files.iter().try_for_each(|path| file_kind::refuse_others(path, &accepted))?;
    }
    let intent = arguments.intent.as_deref().map(Intent::read).transpose()?;
    let objectives = objectives(&arguments.objectives)?;
    let opened = PreopenedReports::all(arguments.outputs.named())?;
    let read = arguments.files.iter().map(PathBuf::as_path).chain(arguments.output.as_deref());
    read.fold(Reach::default(), |reach, path| reach.file(path)).run_files_in(keep.folder()).confine();
    overlap::refuse_copies(&arguments.files).map_err(Failure::usage)?;
    let files = arguments
        .files
        .iter()
        .map(|path| survey(path, arguments.format))
        .collect::<CommandResult<Vec<Surveyed>>>()?;
    let mut source = source::of(&files).map_err(Failure::usage)?;
    overlap::refuse_overlaps(&files).map_err(Failure::usage)?;
    totals::refuse_impossible(&files).map_err(Failure::usage)?;
    let span = span(&files).map_err(Failure::usage)?;
    if let Some(intent) = &intent {
        intent.refuse_another_run(&files, length(&files, span)).map_err(Failure::usage)?;
        intent.add_to(&mut source);
    }
    let imported = Imported { files, span, source, objectives, intent };
    let manifest = imported.manifest()?;
    let file = keep.file(&manifest)?;
    let overwrite = overwrite(arguments.force);
    imported.write(Writer::create(file.path(), &manifest, overwrite).map_err(Failure::usage)?)?;
    let judged = judged::judge_file(file.path())?;
    judged.append_to(file.path())?;
    let name = file.path().display().to_string();
    let asked = &arguments.outputs;
    let summary = asked.reported(judged.summary, &[("evidence", &name)]);
    outputs::write(&summary, &asked.reports, asked.detail(), &opened)?;
    outputs::write_card(&summary, asked, &opened)?;
    Ok(outputs::exit_code(judged.judgement.verdict, asked.reports.on_inconclusive()))
}

fn objectives(texts: &[String]) -> CommandResult<Vec<Objective>> {
    let parse = |text: &String| {
        let parsed = workload::objective::parse(text.trim(), text);
        parsed.with_context(|| format!("--objective '{text}'")).map_err(Failure::usage)
    };
    texts.iter().map(parse).collect()
}

fn survey(path: &Path, format: Option<Format>) -> CommandResult<Surveyed> {
    let refused = |error: ImportError| Failure::usage(anyhow!("{}: {error}", path.display()));
    let mut file = open(path)?;
    let format = match format {
        Some(format) => format,
        None => {
            let mut head = Vec::new();
            let read = file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head);
            read.with_context(|| path.display().to_string()).map_err(Failure::usage)?;
            import::recognise(&head).map_err(refused)?
        }
    };
    // A pipe would be at its end after the first pass.
    file.seek(SeekFrom::Start(0))
        .with_context(|| {
            format!("{}: is read twice, so it must be a file; save the stream first", path.display())
        })
        .map_err(Failure::usage)?;
    let mut survey = Survey::default();
    let reading = import::read(format, &mut BufReader::new(file), &mut survey).map_err(refused)?;
    if survey.is_empty() {
        let malformed = reading.first_malformed().map(|(at, why)| format!("; record {at}: {why}"));
        let left_out = survey.first_contradictory.map(|why| format!("; {why}"));
        let first = malformed.or(left_out).unwrap_or_default();
        return Err(refused(ImportError::Refused(format!(
            "holds nothing that could be read as {format}{first}"
        ))));
    }
    Ok(Surveyed { path: path.to_owned(), format, survey, reading })
}

fn open(path: &Path) -> CommandResult<File> {
    File::open(path).with_context(|| format!("cannot read {}", path.display())).map_err(Failure::usage)
}

/// The time from the start of the first request to the end of the last; a second at the Unix epoch if no file has times of
/// day.
fn span(files: &[Surveyed]) -> anyhow::Result<RunSpan> {
    let spans = files.iter().filter_map(|file| file.survey.span());
    let span = spans.reduce(RunSpan::with).unwrap_or(RunSpan { begin: 0, end: 0 });
    ensure!(
        span.seconds() <= MAX_SECONDS,
        "the times in these files are {} days apart, and a run has at most {}: import files of one run, and look for a \
         time that is wrong",
        span.seconds() / 86_400,
        MAX_SECONDS / 86_400
    );
    Ok(span)
}

/// How long the run was, if any file says so.
fn length(files: &[Surveyed], span: RunSpan) -> Option<Duration> {
    let stated = || files.iter().find_map(|file| file.survey.facts.get("duration_ms")?.parse::<f64>().ok());
    match files.iter().any(|file| file.survey.span().is_some()) {
        true => Some(span.length()),
        false => stated().map(|ms| Duration::from_secs_f64(ms / 1e3)),
    }
}

/// A run by another tool, surveyed.
struct Imported {
    files: Vec<Surveyed>,
    span: RunSpan,
    source: Source,
    objectives: Vec<Objective>,
    intent: Option<Intent>,
}

impl Imported {
    /// Everything that is known about the run; what is not is left empty, and named in the source.
    fn manifest(&self) -> CommandResult<Manifest> {
        let stem = self.files[0].path.file_stem();
        let name = stem.map_or_else(|| "import".to_owned(), |stem| stem.to_string_lossy().into_owned());
        let workload = serde_json::to_value(self.workload(&name)).map_err(Failure::own)?;
        Ok(Manifest {
            workload_digest: manifest::sha256_hex(workload.to_string().as_bytes()),
            workload,
            started_at: self.started_at()?,
            source: Some(self.source.clone()),
            ..Manifest::named(name)
        })
    }

    /// When the run began, if a file says so. Times of day before 1971 count from a start that nothing dates.
    fn started_at(&self) -> CommandResult<String> {
        let is_dated = self.files.iter().any(|file| file.survey.span().is_some());
        if !is_dated || self.span.begin < YEAR_1971_NS {
            return Ok(Manifest::UNKNOWN_START.to_owned());
        }
        let started = Timestamp::from_nanosecond(i128::from(self.span.begin)).map_err(Failure::usage)?;
        Ok(clock::rfc3339(started))
    }

    /// The plan of the run; without one, a workload of one phase that offers nothing.
    fn workload(&self, name: &str) -> Workload {
        let mut workload = match &self.intent {
            Some(intent) => intent.workload.clone(),
            None => Workload {
                phases: vec![Phase {
                    name: import::PHASE.to_owned(),
                    start: Duration::ZERO,
                    end: self.span.length(),
                }],
                ..Workload::named(name)
            },
        };
        workload.objectives.extend(self.objectives.iter().cloned());
        workload
    }

    /// The second pass: everything into the run file.
    fn write(&self, mut writer: Writer) -> CommandResult<()> {
        let planned = self.intent.as_ref().map(Intent::planned).unwrap_or_default();
        let mut filler = Filler::new(&mut writer, self.span).with_plan(planned);
        for file in &self.files {
            let mut input = BufReader::new(open(&file.path)?);
            let again = import::read(file.format, &mut input, &mut filler);
            let again = again.map_err(|error| Failure::own(anyhow!("{}: {error}", file.path.display())))?;
            if again != file.reading {
                return Err(Failure::usage(anyhow!("{} changed while it was read", file.path.display())));
            }
        }
        let folded_endpoints = filler.finish().map_err(Failure::own)?;
        let end = RunEnd {
            folded_endpoints,
            ..RunEnd::new(
                source::cut(&self.files).map_or(Ending::Completed, Ending::Aborted),
                self.span.seconds() - 1,
            )
        };
        writer.end(&end).map_err(Failure::own)
    }
}
