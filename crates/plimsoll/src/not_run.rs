//! The files that a run with a verdict names on its command line, until it has written them: they say NOT RUN, and why. Reports of an
//! earlier run are not reports of this one, and neither is its evidence.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ::report::document::{Undecided, WHOLE_EXPERIMENT, WHOLE_RUN};
use ::report::{Document, document};
use conduct::failure::Failure;
use conduct::screen::note;
use evidence::visible;

use crate::arguments::{KeepArguments, OutputArguments, ReportFileArguments, SCRIPT_VERB, Unusable, Verb};
use crate::outputs;

/// What a run's reports say from its start.
const UNENDED: &str = "The run has not ended: it is still going on, or it was killed.";

/// The files that a run with a verdict was to write.
pub(crate) struct ClaimedFiles {
    /// What the run would have been called.
    name: String,
    /// The test case of such a run, in JUnit.
    case: &'static str,
    /// Each report or card, with the form that says that there was no run.
    reports: Vec<(PathBuf, NotRunForm)>,
    /// The run file that may be replaced.
    replaced: Option<PathBuf>,
}

/// How a file says that there was no run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotRunForm {
    Html,
    Markdown,
    Junit,
    /// It cannot: an earlier one is removed.
    Absence,
}

impl NotRunForm {
    /// The form of what the option `name` writes to this path.
    fn of(name: &str, path: &Path) -> Option<NotRunForm> {
        Some(match name {
            "html" => NotRunForm::Html,
            "md" => NotRunForm::Markdown,
            "junit" => NotRunForm::Junit,
            "card" if has_ending(path, &["md"]) => NotRunForm::Markdown,
            "json" | "card" => NotRunForm::Absence,
            _ => return None,
        })
    }

    /// Whether a file of this name is one that this form usually has.
    fn is_usual(self, path: &Path) -> bool {
        match self {
            NotRunForm::Html => has_ending(path, &["html", "htm"]),
            NotRunForm::Markdown => has_ending(path, &["md", "markdown"]),
            NotRunForm::Junit => has_ending(path, &["xml"]),
            NotRunForm::Absence => has_ending(path, &["json", "svg", "png"]),
        }
    }
}

fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
}

impl ClaimedFiles {
    /// Those of a verb whose arguments are understood; none where it makes no run, or keeps nothing of it.
    pub(crate) fn of(verb: &Verb) -> Option<ClaimedFiles> {
        let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (name, outputs, replaced) = match verb {
            Verb::Run(of) if !of.options.once => {
                (stem(&of.plan), &of.options.outputs, of.output.as_ref().filter(|_| of.options.force))
            }
            #[cfg(feature = "scripts")]
            Verb::Script(of) if !of.is_checked => {
                (stem(&of.script), &of.outputs, of.evidence.as_ref().filter(|_| of.force))
            }
            Verb::Http(of) => {
                let listed = || of.targets.as_deref().map(|path| path.display().to_string());
                let name = of.url.as_deref().and_then(plans::adhoc::http_name).or_else(listed);
                adhoc(name.unwrap_or_else(|| "http".to_owned()), &of.keep)
            }
            Verb::Grpc(of) => {
                let name = plans::adhoc::grpc_name(&of.address);
                adhoc(name.unwrap_or_else(|| "grpc".to_owned()), &of.keep)
            }
            Verb::Ab(of) if of.session.judge.is_none() => {
                let name = of.file.as_deref().map_or_else(|| "ab".to_owned(), stem);
                let reports = reports(&of.session.outputs.files, None);
                return Some(ClaimedFiles { name, case: WHOLE_EXPERIMENT, reports, replaced: None });
            }
            _ => return None,
        };
        let reports = reports(&outputs.reports.files, outputs.card.as_deref());
        Some(ClaimedFiles { name, case: WHOLE_RUN, reports, replaced: replaced.cloned() })
    }

    /// Those that a command line names which cannot be understood. Only names that such files usually have: the command line is wrong.
    pub(crate) fn of_words(words: &[OsString]) -> Option<ClaimedFiles> {
        let words: Vec<_> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
        let verb = words.first().filter(|verb| RUN_VERBS.contains(verb))?;
        let case = if *verb == "ab" { WHOLE_EXPERIMENT } else { WHOLE_RUN };
        let mut claimed =
            ClaimedFiles { name: (*verb).to_owned(), case, reports: Vec::new(), replaced: None };
        for (at, word) in words.iter().enumerate() {
            let Some((option, value)) = option_of(word, words.get(at + 1)) else { continue };
            let path = PathBuf::from(value);
            let form = NotRunForm::of(option, &path).filter(|form| form.is_usual(&path));
            // A word that is named elsewhere may be an input.
            let is_elsewhere =
                || words.iter().enumerate().any(|(other, word)| other != at + 1 && *word == value);
            if let Some(form) = form.filter(|_| !is_elsewhere()) {
                claimed.reports.push((path, form));
            } else if ["o", "output", "evidence"].contains(&option) && words.contains(&"--force") {
                claimed.replaced = Some(path).filter(|path| has_ending(path, &["plimsoll"]));
            }
        }
        Some(claimed)
    }

    /// Before anything else: nothing that an earlier run wrote passes for this one's, even if this process is killed.
    pub(crate) fn begin(&self) {
        self.write(UNENDED, |path| path != Path::new("-") && (!path.exists() || path.is_file()));
        // A file that cannot be moved cannot be replaced either, which the run says.
        let _ = self.replaced.as_deref().map(archive::set_aside);
    }

    /// The run was made, or could not be.
    pub(crate) fn end(&self, failure: Option<&Failure>) {
        if let Some(failure) = failure.filter(|_| !outputs::are_written()) {
            self.fail(failure.text().trim_end().trim_start_matches("plimsoll: "));
        }
        let Some(path) = &self.replaced else { return };
        let aside = archive::aside(path);
        if path.exists() {
            let _ = archive::remove(&aside);
        } else if aside.exists() {
            let shown = visible(&aside.to_string_lossy()).into_owned();
            note(format_args!("the run file of an earlier run is now {shown}: this run has none"));
        }
    }

    /// Say in each report why there was no run.
    pub(crate) fn fail(&self, why: &str) {
        self.write(why, |_| true);
    }

    fn write(&self, why: &str, is_written: impl Fn(&Path) -> bool) {
        let document = Document::not_run(&self.name, self.case, why);
        for (path, form) in self.reports.iter().filter(|(path, _)| is_written(path)) {
            let text = match form {
                NotRunForm::Html => document::html(&document),
                NotRunForm::Markdown => document::markdown(&document),
                NotRunForm::Junit => document::junit(&document, Undecided::Error),
                NotRunForm::Absence => {
                    let _ = path.is_file().then(|| std::fs::remove_file(path));
                    continue;
                }
            };
            // The failure itself is what is printed; that a report cannot be written is said before the load.
            let _ = outputs::put(path, &text);
        }
    }
}

/// The verbs whose reports are those of a run.
const RUN_VERBS: [&str; 5] = ["run", SCRIPT_VERB, "http", "grpc", "ab"];

/// An option, without its hyphens, and its value, from the word and the next one.
fn option_of<'a>(word: &'a str, next: Option<&&'a str>) -> Option<(&'a str, &'a str)> {
    let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let of_next = || Some((option, *next.filter(|next| !next.starts_with('-'))?));
    option.split_once('=').or_else(of_next)
}

fn adhoc(name: String, keep: &KeepArguments) -> (String, &OutputArguments, Option<&PathBuf>) {
    (name, &keep.options.outputs, keep.output.as_ref().filter(|_| keep.options.force))
}

fn reports(files: &ReportFileArguments, card: Option<&Path>) -> Vec<(PathBuf, NotRunForm)> {
    let [html, md, json, junit] = files.named();
    let named = [("html", html), ("md", md), ("json", json), ("junit", junit), ("card", card)];
    named
        .into_iter()
        .filter_map(|(name, path)| Some((path?.to_owned(), NotRunForm::of(name, path?)?)))
        .collect()
}

/// The exit code of a command line that cannot be used; the files that it names say so.
pub(crate) fn end_unusable(unusable: &Unusable) -> u8 {
    if let Some(files) = ClaimedFiles::of_words(&unusable.words) {
        files.begin();
        files.fail(&unusable.why);
        files.end(None);
    }
    unusable.code
}
