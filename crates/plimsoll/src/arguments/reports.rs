//! Where reports are written.

use std::path::{Path, PathBuf};

use ::report::{Detail, Percentiles, Summary};
use clap::Args;

use crate::picture::PictureForm;

/// Reports besides the summary on the terminal; `-` is standard output.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = super::RESULTS)]
pub(crate) struct ReportFileArguments {
    /// Write the report as one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the report as Markdown, for a CI job's summary
    #[arg(long, value_name = "FILE")]
    pub(crate) md: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write the objectives as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

impl ReportFileArguments {
    /// The files that are named.
    pub(crate) fn named(&self) -> [Option<&Path>; 4] {
        [&self.html, &self.md, &self.json, &self.junit].map(Option::as_deref)
    }
}

/// Reports of what has a verdict.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = super::RESULTS)]
pub(crate) struct VerdictOutputArguments {
    #[command(flatten)]
    pub(crate) files: ReportFileArguments,
    /// Exit code if INCONCLUSIVE: `fail` is 4, `warn` is 0 [default: fail]
    ///
    /// In JUnit an objective that is not decided is an error, and with `warn` a skipped test. A k6 script ends with k6's exit code
    /// unless `fail` is given.
    #[arg(long, value_enum, hide_possible_values = true, value_name = "MODE")]
    pub(crate) inconclusive: Option<OnInconclusive>,
}

impl VerdictOutputArguments {
    pub(crate) fn on_inconclusive(&self) -> OnInconclusive {
        self.inconclusive.unwrap_or_default()
    }
}

/// Reports of a run.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = super::RESULTS)]
pub(crate) struct OutputArguments {
    #[command(flatten)]
    pub(crate) reports: VerdictOutputArguments,
    /// The percentiles that tables of response times show, such as 50,90,99.9: at most 8 [default: 50,90,95,99]
    #[arg(long, value_name = "LIST")]
    pub(crate) percentiles: Option<Percentiles>,
    /// Write a card for a chat or a pull request: FILE.svg, FILE.png or FILE.md
    ///
    /// It has the verdict, the objectives and the first numbers.
    #[arg(long, value_name = "FILE", value_parser = card_file, hide_short_help = true)]
    pub(crate) card: Option<PathBuf>,
    /// Draw the card on a dark background
    #[arg(long, requires = "card", hide_short_help = true)]
    pub(crate) dark: bool,
    /// Show findings in full, and what the verdict assumes
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// What an INCONCLUSIVE verdict does to the exit code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnInconclusive {
    /// Exit with 4
    #[default]
    Fail,
    /// Exit with 0 and print a note
    Warn,
}

impl OutputArguments {
    /// The files that stay behind, with what each is: the run file first, if it is kept.
    pub(crate) fn files<'a>(&'a self, run_file: Option<&'a Path>) -> Vec<(&'static str, &'a str)> {
        let [html, md, json, junit, card] = self.named();
        let kept = [
            ("evidence", run_file),
            ("HTML", html),
            ("Markdown", md),
            ("JSON", json),
            ("JUnit", junit),
            ("card", card),
        ];
        let files = kept.into_iter().filter_map(|(what, path)| Some((what, path?.to_str()?)));
        files.filter(|(_, path)| *path != "-").collect()
    }

    /// What is reported, with these files, as these options ask for it.
    pub(crate) fn reported(&self, summary: Summary, files: &[(&str, &str)]) -> Summary {
        let summary = summary.with_files(files);
        match &self.percentiles {
            Some(percentiles) => summary.with_percentiles(percentiles.clone()),
            None => summary,
        }
    }

    /// The files that are named.
    pub(crate) fn named(&self) -> [Option<&Path>; 5] {
        let [html, md, json, junit] = self.reports.files.named();
        [html, md, json, junit, self.card.as_deref()]
    }

    /// How much a terminal says of findings.
    pub(crate) fn detail(&self) -> Detail {
        if self.verbose { Detail::Full } else { Detail::Brief }
    }
}

/// The file of a card, whose ending says its form.
fn card_file(text: &str) -> anyhow::Result<PathBuf> {
    let path = PathBuf::from(text);
    let is_markdown = path.extension().is_some_and(|ending| ending == "md");
    if is_markdown || PictureForm::parse(&path)?.is_some() {
        return Ok(path);
    }
    anyhow::bail!("a card is written to FILE.svg, FILE.png or FILE.md")
}
