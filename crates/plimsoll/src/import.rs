//! `plimsoll import`: what another tool wrote, as a run file that says what its source could not know.

mod source;

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use archive::{Overwrite, Writer};
use evidence::manifest::SCHEMA_VERSION;
use evidence::{Ending, Manifest, RunEnd, Sink as _, Source};
use import::{Filler, Format, HEAD_BYTES, ImportError, Reading, Survey};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use workload::{Objective, Phase, Workload};

use crate::arguments::ImportArguments;
use crate::confine::Reach;
use crate::failure::{Failure, Outcome};
use crate::outputs::Opened;
use crate::run_file::Keep;
use crate::{clock, judged, outputs};

/// The longest run that a run file can hold, in seconds.
const MAX_SECONDS: i64 = 31 * 86_400;
const SECOND_NS: i64 = 1_000_000_000;

/// A file in the making, with what the first pass over it said.
pub(crate) struct Surveyed {
    path: PathBuf,
    format: Format,
    survey: Survey,
    reading: Reading,
}

pub(crate) fn import(arguments: &ImportArguments) -> Outcome<u8> {
    let keep = arguments.output.as_deref().map_or(Keep::ByName, Keep::At);
    if !arguments.force {
        keep.refuse_existing()?;
    }
    let objectives = objectives(&arguments.asks)?;
    let opened = Opened::all(arguments.outputs.files())?;
    let read = arguments.files.iter().map(PathBuf::as_path).chain(arguments.output.as_deref());
    read.fold(Reach::default(), |reach, path| reach.file(path)).run_files_in(keep.folder()).confine();
    let files = arguments
        .files
        .iter()
        .map(|path| survey(path, arguments.format))
        .collect::<Outcome<Vec<Surveyed>>>()?;
    let source = source::of(&files).map_err(Failure::usage)?;
    let (epoch, seconds) = span(&files).map_err(Failure::usage)?;
    let manifest = manifest(&files[0].path, (epoch, seconds), (source, objectives))?;
    let file = keep.file(&manifest)?;
    write(file.path(), (&manifest, arguments.force), (&files, epoch, seconds))?;
    let judged = judged::judge_file(file.path())?;
    archive::append_judgement(file.path(), &judged.judgement, &clock::rfc3339(clock::now()))
        .map_err(Failure::own)?;
    let name = file.path().display().to_string();
    outputs::write(&judged.summary.with_files(&[("evidence", &name)]), &arguments.outputs, &opened)?;
    Ok(judge::exit_code(judged.judgement.verdict))
}

fn objectives(asks: &[String]) -> Outcome<Vec<Objective>> {
    let parse = |(at, text): (usize, &String)| {
        let parsed = workload::objective::parse(&format!("asked-{}", at + 1), text);
        parsed.with_context(|| format!("--ask '{text}'")).map_err(Failure::usage)
    };
    asks.iter().enumerate().map(parse).collect()
}

fn survey(path: &Path, format: Option<Format>) -> Outcome<Surveyed> {
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
    // A pipe would be over after the first pass.
    file.seek(SeekFrom::Start(0))
        .with_context(|| {
            format!("{}: is read twice, so it must be a file; save the stream first", path.display())
        })
        .map_err(Failure::usage)?;
    let mut survey = Survey::default();
    let reading = import::read(format, &mut BufReader::new(file), &mut survey).map_err(refused)?;
    if survey.dated == 0 && survey.figures.is_empty() {
        let first = reading.first_malformed.as_ref();
        let first = first.map(|(at, why)| format!("; record {at}: {why}")).unwrap_or_default();
        return Err(refused(ImportError::Refused(format!(
            "holds nothing that could be read as {format}{first}"
        ))));
    }
    Ok(Surveyed { path: path.to_owned(), format, survey, reading })
}

fn open(path: &Path) -> Outcome<File> {
    File::open(path).with_context(|| format!("cannot read {}", path.display())).map_err(Failure::usage)
}

/// The run's epoch, a whole second since the Unix epoch in nanoseconds, and how many seconds it has.
fn span(files: &[Surveyed]) -> anyhow::Result<(i64, u32)> {
    let spans = files.iter().filter_map(|file| file.survey.span);
    let Some((first, last)) = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else { return Ok((0, 1)) };
    let epoch = first.div_euclid(SECOND_NS).saturating_mul(SECOND_NS);
    let seconds = last.saturating_sub(epoch) / SECOND_NS + 1;
    if seconds > MAX_SECONDS {
        return Err(anyhow!(
            "the times in these files are {} days apart, and a run has at most {}: import files of one run, and look \
             for a time that is wrong",
            seconds / 86_400,
            MAX_SECONDS / 86_400
        ));
    }
    Ok((epoch, u32::try_from(seconds)?))
}

/// Everything about the run that is known; what is not is left empty, and named in the source.
fn manifest(
    first: &Path,
    (epoch, seconds): (i64, u32),
    (source, objectives): (Source, Vec<Objective>),
) -> Outcome<Manifest> {
    let name =
        first.file_stem().map_or_else(|| "import".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let end = Duration::from_secs(u64::from(seconds));
    let workload = Workload {
        name: name.clone(),
        seed: 0,
        targets: Default::default(),
        data: Default::default(),
        phases: vec![Phase { name: import::PHASE.to_owned(), start: Duration::ZERO, end }],
        scenarios: Vec::new(),
        setup: Vec::new(),
        objectives,
        profiles: Vec::new(),
        precheck: false,
        traceparent: false,
        secrets: Vec::new(),
    };
    let workload = serde_json::to_value(workload).map_err(Failure::own)?;
    let digest = Sha256::digest(workload.to_string().as_bytes());
    let started = Timestamp::from_nanosecond(i128::from(epoch)).map_err(Failure::usage)?;
    Ok(Manifest {
        schema_version: SCHEMA_VERSION,
        name,
        workload,
        workload_digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        seed: 0,
        started_at: clock::rfc3339(started),
        targets: Default::default(),
        environment: Default::default(),
        generator: Default::default(),
        source: Some(source),
    })
}

/// The second pass: everything into the run file.
fn write(
    path: &Path,
    (manifest, force): (&Manifest, bool),
    (files, epoch, seconds): (&[Surveyed], i64, u32),
) -> Outcome<()> {
    let overwrite = if force { Overwrite::Replace } else { Overwrite::Refuse };
    let mut writer = Writer::create(path, manifest, overwrite).map_err(Failure::usage)?;
    let mut filler = Filler::new(&mut writer, epoch);
    for file in files {
        let mut input = BufReader::new(open(&file.path)?);
        let again = import::read(file.format, &mut input, &mut filler);
        let again = again.map_err(|error| Failure::own(anyhow!("{}: {error}", file.path.display())))?;
        if again != file.reading {
            return Err(Failure::usage(anyhow!("{} changed while it was read", file.path.display())));
        }
    }
    let folded_endpoints = filler.finish().map_err(Failure::own)?;
    let end = RunEnd {
        ending: source::cut(files).map_or(Ending::Completed, Ending::Aborted),
        last_second: seconds - 1,
        requests_in_flight: 0,
        iterations_in_flight: 0,
        folded_endpoints,
        folded_ticks: 0,
    };
    writer.end(&end).map_err(Failure::own)
}
