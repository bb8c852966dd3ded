//! A chart of the HTML report as a file.

use std::path::{Path, PathBuf};

use ::report::{Background, ChartFile, Document, Reported as _, chart_files};
use anyhow::anyhow;
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::judged;
use conduct::screen;
use conduct::standard_output::print;
use evidence::{TerminalText, visible};
use workload::nearest::nearest;

use crate::outputs::PreopenedReports;
use crate::picture::PictureForm;

/// A chart by its name, and where it is written; none where the names are asked for.
pub(super) struct ChartRequest(Option<ChartOutput>);

struct ChartOutput {
    chart: String,
    path: PathBuf,
    form: PictureForm,
}

impl ChartRequest {
    /// What the values of `--chart` ask for.
    pub(super) fn parse(values: &[String]) -> CommandResult<ChartRequest> {
        let [name, file] = values else {
            return match values {
                [] => Ok(ChartRequest(None)),
                _ => Err(Failure::usage(anyhow!("a chart needs a file: --chart NAME FILE.svg, or FILE.png"))),
            };
        };
        let path = PathBuf::from(file);
        match PictureForm::parse(&path).map_err(Failure::usage)? {
            Some(form) => Ok(ChartRequest(Some(ChartOutput { chart: name.clone(), path, form }))),
            None => Err(Failure::usage(anyhow!(
                "a chart is written as SVG or PNG: --chart {name} FILE.svg, or FILE.png"
            ))),
        }
    }

    pub(super) fn file(&self) -> Option<&Path> {
        self.0.as_ref().map(|output| output.path.as_path())
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
        let Some(ChartOutput { chart: name, path, form }) = &self.0 else {
            let mut text = TerminalText::default();
            charts.iter().for_each(|chart| {
                text.line(visible(&chart.name));
            });
            return print(&text);
        };
        let found = charts.iter().find(|chart| chart.name == *name);
        let svg = found.ok_or_else(|| unknown(name, &charts))?.svg(background);
        opened.put_bytes(path, &form.bytes(svg)?)?;
        screen::note(path.display());
        Ok(())
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
