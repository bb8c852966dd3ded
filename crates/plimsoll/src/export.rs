//! `plimsoll export`: parts of a run file, in formats that other tools read.

mod charts;
mod profiles;

use std::fs;
use std::path::{Path, PathBuf};

use ::export::{CSV_FILES, RunStart};
use ::report::Background;
use anyhow::{Context as _, anyhow};
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::untrusted::UntrustedRunFiles;
use conduct::{integrity, screen};
use evidence::run::Run as _;
use jiff::Timestamp;

use crate::arguments::ExportArguments;
use crate::outputs::PreopenedReports;
use charts::ChartRequest;

pub(crate) fn export(arguments: &ExportArguments) -> CommandResult<u8> {
    let path = arguments.file.as_path();
    UntrustedRunFiles::check([path])?;
    if arguments.csv.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage(anyhow!("tables are several files: name a folder, `--csv FOLDER`")));
    }
    for folder in [&arguments.profiles, &arguments.csv].into_iter().flatten() {
        let made = fs::create_dir_all(folder);
        made.with_context(|| format!("cannot make the folder {}", folder.display()))
            .map_err(Failure::usage)?;
    }
    let chart = arguments.chart.as_deref().map(ChartRequest::parse).transpose()?;
    let files = files(arguments);
    let files = files.iter().map(|path| Some(path.as_path()));
    // A chart's name is known to be one once the run is judged: a new file of it is made then.
    let (old, new) =
        chart.as_ref().and_then(ChartRequest::file).map_or((None, None), |file| match file.exists() {
            true => (Some(file), None),
            false => (None, Some(folder_of(file))),
        });
    let opened = PreopenedReports::all(files.chain([old]))?;
    let received = UntrustedRunFiles::at([path])?;
    let reach = new.iter().fold(received.reach(), |reach, folder| reach.new_files_in(folder));
    arguments.profiles.iter().fold(reach, |reach, folder| reach.new_files_in(folder)).confine();
    let run = received.read_one()?;
    let invalid = integrity::state(integrity::verify(&run, path)?, path)?;
    write(&run, arguments, &opened)?;
    if let Some(folder) = &arguments.profiles {
        let written = profiles::write(&run, path, folder);
        // That there are none may be the change.
        if invalid.is_none() {
            written?;
        }
    }
    if let Some(chart) = chart {
        let background = if arguments.dark { Background::Dark } else { Background::White };
        chart.write(run, background, &opened)?;
    }
    Ok(invalid.unwrap_or(0))
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Every file that is written, but for profiles and a chart.
fn files(arguments: &ExportArguments) -> Vec<PathBuf> {
    let tables = arguments.csv.iter().flat_map(|folder| CSV_FILES.map(|name| folder.join(name)));
    tables.chain(arguments.openmetrics.clone()).chain(arguments.hdr.clone()).collect()
}

fn write(run: &Stored, arguments: &ExportArguments, opened: &PreopenedReports) -> CommandResult<()> {
    let start = start(&run.manifest().started_at);
    if let Some(folder) = &arguments.csv {
        for (name, text) in ::export::csv(run, start).map_err(Failure::own)? {
            put(opened, &folder.join(name), &text)?;
        }
    }
    if let Some(path) = &arguments.openmetrics {
        put(opened, path, &::export::openmetrics(run, start).map_err(Failure::own)?)?;
    }
    if let Some(path) = &arguments.hdr {
        put(opened, path, &::export::hdr(run, start).map_err(Failure::own)?)?;
    }
    Ok(())
}

fn put(opened: &PreopenedReports, path: &Path, text: &str) -> CommandResult<()> {
    opened.put(path, text)?;
    if path != Path::new("-") {
        screen::note(path.display());
    }
    Ok(())
}

/// When the run started, if its file says so.
fn start(started_at: &str) -> Option<RunStart> {
    let at: Timestamp = started_at.parse().ok()?;
    (at.as_second() >= 365 * 86_400).then(|| RunStart { unix_ms: at.as_millisecond() })
}
