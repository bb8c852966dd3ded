//! A chart of the HTML report as a file.

use std::path::{Path, PathBuf};

use ::report::{Background, ChartFile, Document, Reported as _, chart_files};
use anyhow::anyhow;
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::judged;
use conduct::standard_output::print;
use evidence::{TerminalText, visible};
use workload::nearest::nearest;

use crate::outputs::PreopenedReports;

/// A chart by its name, and where it is written; none where the names are asked for.
pub(super) struct ChartRequest(Option<(String, PathBuf)>);

impl ChartRequest {
    /// What the values of `--chart` ask for.
    pub(super) fn parse(values: &[String]) -> CommandResult<ChartRequest> {
        let [name, file] = values else {
            return match values {
                [] => Ok(ChartRequest(None)),
                _ => Err(Failure::usage(anyhow!("a chart needs a file: --chart NAME FILE.svg"))),
            };
        };
        let path = PathBuf::from(file);
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("svg") => Ok(ChartRequest(Some((name.clone(), path)))),
            Some("png") => Err(Failure::usage(anyhow!(
                "a chart is written as SVG: --chart {name} FILE.svg; `rsvg-convert --output FILE.png FILE.svg` makes a PNG of it"
            ))),
            _ => Err(Failure::usage(anyhow!("a chart is written as SVG: --chart {name} FILE.svg"))),
        }
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.0.as_ref().map(|(_, path)| path.as_path())
    }

    /// Draw it, or print the names of all.
    pub(super) fn write(
        &self,
        run: Stored,
        background: Background,
        opened: &PreopenedReports,
    ) -> CommandResult<()> {
        let document: Document = judged::judge(run)?.summary.document();
        let charts = chart_files(&document);
        let Some((name, path)) = &self.0 else {
            let mut text = TerminalText::default();
            charts.iter().for_each(|chart| {
                text.line(visible(&chart.name));
            });
            return print(&text);
        };
        let found = charts.iter().find(|chart| chart.name == *name);
        super::put(opened, path, &found.ok_or_else(|| unknown(name, &charts))?.svg(background))
    }
}

fn unknown(name: &str, charts: &[ChartFile<'_>]) -> Failure {
    let names = || charts.iter().map(|chart| chart.name.as_str());
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`? There are "),
        None => "there are ".to_owned(),
    };
    let all = names().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Failure::usage(anyhow!("the report has no chart `{name}`; {hint}{all}"))
}
