//! Station 9: writes the reports that were asked for.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ::report::document::Undecided;
use ::report::{Background, Detail, Document, Reported, Summary, VerdictCard, document};
use conduct::failure::{CommandResult, Failure};
use conduct::screen::note;
use conduct::standard_output::{print, print_document, terminal};
use evidence::Verdict;

use crate::arguments::{OnInconclusive, OutputArguments, ReportFileArguments, VerdictOutputArguments};
use crate::picture::PictureForm;

/// Which reports are written, and what JUnit makes of INCONCLUSIVE.
#[derive(Clone, Copy)]
pub(crate) struct ReportOptions<'a> {
    files: &'a ReportFileArguments,
    undecided: Undecided,
}

impl<'a> From<&'a ReportFileArguments> for ReportOptions<'a> {
    fn from(files: &'a ReportFileArguments) -> ReportOptions<'a> {
        ReportOptions { files, undecided: Undecided::default() }
    }
}

impl<'a> From<&'a VerdictOutputArguments> for ReportOptions<'a> {
    fn from(asked: &'a VerdictOutputArguments) -> ReportOptions<'a> {
        let undecided = match asked.on_inconclusive() {
            OnInconclusive::Fail => Undecided::Error,
            OnInconclusive::Warn => Undecided::Skipped,
        };
        ReportOptions { files: &asked.files, undecided }
    }
}

impl ReportOptions<'_> {
    /// Those of a run that ends with this exit code: what ends with 0 fails no test.
    pub(crate) fn ending_with(self, exit_code: u8) -> Self {
        match exit_code {
            0 => ReportOptions { undecided: Undecided::Skipped, ..self },
            _ => self,
        }
    }
}

/// Write every report that was asked for, and the one for the terminal unless standard output is taken.
pub(crate) fn write<'a>(
    reported: &impl Reported,
    asked: impl Into<ReportOptions<'a>>,
    detail: Detail,
    opened: &PreopenedReports,
) -> CommandResult<()> {
    let (document, asked) = (reported.document(), asked.into());
    show(&document, asked.files, detail)?;
    write_files(reported, &document, asked, opened)
}

/// The report on standard output, unless that is taken.
pub(crate) fn show(document: &Document, asked: &ReportFileArguments, detail: Detail) -> CommandResult<()> {
    if asked.named().contains(&Some(Path::new("-"))) {
        return Ok(());
    }
    let (style, width) = terminal();
    print(&document::terminal(document, style, width, detail))
}

/// Write every report that was asked for. One that cannot be written keeps no other from being written.
pub(crate) fn write_files<'a>(
    reported: &impl Reported,
    document: &Document,
    asked: impl Into<ReportOptions<'a>>,
    opened: &PreopenedReports,
) -> CommandResult<()> {
    ARE_WRITTEN.store(true, Ordering::Relaxed);
    let ReportOptions { files, undecided } = asked.into();
    let forms: [&dyn Fn() -> String; 4] =
        [&|| document::html(document), &|| document::markdown(document), &|| reported.json(), &|| {
            document::junit(document, undecided)
        }];
    let asked = files.named().into_iter().zip(forms).filter_map(|(path, form)| Some((path?, form)));
    let written: Vec<_> = asked.map(|(path, form)| opened.put(path, &form())).collect();
    let mut failures = written.into_iter().filter_map(Result::err);
    let first = failures.next();
    failures.for_each(|failure| note(failure.text().trim_end()));
    first.map_or(Ok(()), Err)
}

/// Write the card of a run, if one was asked for.
pub(crate) fn write_card(
    summary: &Summary,
    asked: &OutputArguments,
    opened: &PreopenedReports,
) -> CommandResult<()> {
    let Some(path) = &asked.card else { return Ok(()) };
    let card = VerdictCard::new(summary);
    let background = if asked.dark { Background::Dark } else { Background::White };
    match PictureForm::parse(path).map_err(Failure::usage)? {
        Some(form) => opened.put_bytes(path, &form.bytes(card.svg(background))?),
        None => opened.put(path, &card.markdown()),
    }
}

static ARE_WRITTEN: AtomicBool = AtomicBool::new(false);

/// Whether the reports of this process have been written, or begun.
pub(crate) fn are_written() -> bool {
    ARE_WRITTEN.load(Ordering::Relaxed)
}

/// Why an INCONCLUSIVE verdict on a script ends with exit code 0.
pub(crate) const OF_K6: &str =
    "the verdict is INCONCLUSIVE; the exit code is 0, as k6's would be (--inconclusive=fail makes it 4)";

/// The exit code for a verdict. An INCONCLUSIVE one that shall not fail a build is noted, and stays what it is.
pub(crate) fn exit_code(verdict: Verdict, on_inconclusive: OnInconclusive) -> u8 {
    match (verdict, on_inconclusive) {
        (Verdict::Inconclusive, OnInconclusive::Warn) => {
            note("the verdict is INCONCLUSIVE; the exit code is 0, as --inconclusive=warn asks");
            0
        }
        _ => judge::exit_code(verdict),
    }
}

/// Write to a file, or to standard output where the path is `-`.
pub(crate) fn put(path: &Path, text: &str) -> CommandResult<()> {
    PreopenedReports::default().put(path, text)
}

/// Files for reports, opened before foreign files are read: from then on no other can be written. What is in them stays
/// until there is something to put into them.
#[derive(Default)]
pub(crate) struct PreopenedReports(Vec<(PathBuf, File)>);

impl PreopenedReports {
    /// Open, or create, each of these that is a file.
    pub(crate) fn all<'a>(
        paths: impl IntoIterator<Item = Option<&'a Path>>,
    ) -> CommandResult<PreopenedReports> {
        let open = |path: &Path| {
            let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
            file.map(|file| (path.to_owned(), file)).map_err(|error| unwritable(path, error))
        };
        let paths = paths.into_iter().flatten().filter(|path| *path != Path::new("-"));
        Ok(PreopenedReports(paths.map(open).collect::<CommandResult<_>>()?))
    }

    /// Write to one of the files, or to any other while that is still allowed, or to standard output where the path
    /// is `-`.
    pub(crate) fn put(&self, path: &Path, text: &str) -> CommandResult<()> {
        match path == Path::new("-") {
            true => print_document(text),
            false => self.put_bytes(path, text.as_bytes()),
        }
    }

    /// Write to one of the files, or to any other while that is still allowed.
    pub(crate) fn put_bytes(&self, path: &Path, bytes: &[u8]) -> CommandResult<()> {
        let written = match self.0.iter().find(|(opened, _)| opened == path) {
            Some((_, file)) => replace(file, bytes),
            None => std::fs::write(path, bytes),
        };
        written.map_err(|error| unwritable(path, error))
    }
}

/// Put `bytes` in the place of what the file holds; a pipe or a terminal holds nothing.
fn replace(mut file: &File, bytes: &[u8]) -> std::io::Result<()> {
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(bytes)
}

fn unwritable(path: &Path, error: std::io::Error) -> Failure {
    Failure::own(anyhow::Error::new(error).context(format!("cannot write {}", path.display())))
}
