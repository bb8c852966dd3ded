//! The charts of a report as files of their own.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::charts::{Chart, HEIGHT, WIDTH};
use crate::document::{Block, Document, Forms};
use crate::drawing::{self, Background, Palette};

/// The classes of lines and bars, which have the palette's colour of the same name.
const CLASSES: [&str; 13] =
    ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "bad", "offered", "p50", "p95", "p99"];
/// The height of the title, and of a line of the legend.
const TITLE: f64 = 28.0;
const LINE: f64 = 18.0;
/// What an entry of the legend has before its text, and after it.
const SIGN: f64 = 24.0;
const GAP: f64 = 16.0;
const MARGIN: f64 = 12.0;
/// How much wider than usual the title is.
const BOLD: f64 = 1.15;
/// From the plot to the name of its x axis.
const AXIS_NAME: f64 = 10.0;

/// A chart of a report.
#[derive(Debug)]
pub struct ChartFile<'d> {
    /// What it is asked for by: `cpu`, `response-time-list`.
    pub name: String,
    chart: &'d Chart,
    legend: Vec<(&'d str, &'d str)>,
}

/// Every chart of the page of `document`, each with a unique name.
pub fn chart_files(document: &Document) -> Vec<ChartFile<'_>> {
    let mut names = BTreeSet::new();
    let mut files = Vec::new();
    let sections = document.sections.iter().filter(|section| section.forms != Forms::Text);
    for block in sections.flat_map(|section| &section.blocks) {
        let Block::Chart(block) = block else { continue };
        for chart in &block.charts {
            let own = chart.legend.iter().map(|(class, label)| (class.as_str(), label.as_str()));
            let key = block.key.iter().copied().filter(|(class, _)| chart.draws(class));
            let legend = if chart.legend.is_empty() { key.collect() } else { own.collect() };
            let first = name_of(chart);
            let numbered = (2..).map(|n: u32| format!("{first}-{n}"));
            let mut free =
                std::iter::once(first.clone()).chain(numbered).filter(|name| !names.contains(name));
            let name = free.next().expect("numbers do not end");
            names.insert(name.clone());
            files.push(ChartFile { name, chart, legend });
        }
    }
    files
}

/// Its title in lower case, with hyphens; of an endpoint or a phase with what it shows of that.
fn name_of(chart: &Chart) -> String {
    let slug = |text: &str| {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect::<Vec<_>>().join("-")
    };
    match chart.unit.as_str() {
        "response time" => format!("response-time-{}", slug(&chart.title)),
        "response time by percentile" => {
            format!("distribution-{}", slug(chart.title.trim_start_matches("Phase ")))
        }
        _ => slug(&chart.title),
    }
}

impl ChartFile<'_> {
    /// As an SVG file.
    pub fn svg(&self, background: Background) -> String {
        let palette = Palette::of(background);
        let mut out = String::new();
        let ink = format!("font-size=\"14\" font-weight=\"600\" fill=\"{}\"", palette.get("ink"));
        let soft = format!("font-size=\"11\" fill=\"{}\"", palette.get("soft"));
        let Chart { title, unit, note, svg, x_name, .. } = self.chart;
        drawing::text(&mut out, (MARGIN, 18.0), &ink, title, 40);
        let after = MARGIN + BOLD * drawing::width_of(title, 14.0).min(WIDTH / 2.0) + GAP;
        let about = if note.is_empty() { unit.clone() } else { format!("{unit} · {note}") };
        drawing::text(&mut out, (after, 18.0), &soft, &about, 60);
        let plot = format!("<svg class=\"plot\" y=\"{TITLE}\" width=\"{WIDTH}\" height=\"{HEIGHT}\"");
        out.push_str(&svg.replacen("<svg class=\"plot\"", &plot, 1));
        let (mut x, mut y) = (MARGIN, TITLE + HEIGHT + LINE);
        if !x_name.is_empty() {
            let middle = (WIDTH - drawing::width_of(x_name, 11.0)) / 2.0;
            drawing::text(&mut out, (middle, TITLE + HEIGHT + AXIS_NAME), &soft, x_name, 60);
            y += LINE;
        }
        for (class, label) in &self.legend {
            let width = SIGN + drawing::width_of(label, 12.0);
            if x > MARGIN && x + width > WIDTH - MARGIN {
                (x, y) = (MARGIN, y + LINE);
            }
            let _ = write!(out, "<path class=\"line {class}\" d=\"M{x:.1} {:.1}h18\"/>", y - 4.0);
            drawing::text(&mut out, (x + SIGN, y), &soft.replace("11", "12"), label, 60);
            x += width + GAP;
        }
        let height = if self.legend.is_empty() { y - LINE + MARGIN } else { y + MARGIN };
        drawing::file(WIDTH, height, &palette, &style(&palette), &out)
    }
}

/// The rules of the page's style sheet for plots, with the palette's colours.
fn style(palette: &Palette) -> String {
    let [soft, grid, band, odd, bad, link, fail, caution] =
        ["soft", "grid", "band", "band-odd", "bad", "link", "fail", "caution"].map(|name| palette.get(name));
    let mut style = format!(
        ".plot text{{fill:{soft};font-size:11px}}.plot .y{{text-anchor:end}}.plot .x,.plot .phase{{text-anchor:middle}}\
         .axis path{{stroke:{grid};fill:none}}.axis .base{{stroke:{soft}}}.band{{fill:{band}}}.band.odd{{fill:{odd}}}\
         .line{{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}}.fill{{opacity:.13;stroke:none}}\
         path.bad-bar{{fill:{bad};opacity:.75}}.line.bad-bar{{stroke:{bad};stroke-width:6;opacity:.75}}\
         path.mark{{stroke:{link};stroke-width:1.2;stroke-dasharray:2 2}}.plot text.mark{{fill:{link}}}.plot .before{{text-anchor:end}}\
         path.bound{{stroke:{fail};stroke-width:1.2;stroke-dasharray:7 3}}.plot text.bound{{fill:{fail};text-anchor:end}}\
         .stall{{fill:{caution};opacity:.16}}.line.stall{{stroke:{caution};stroke-width:8;opacity:.4}}"
    );
    for class in CLASSES {
        let colour = palette.get(class);
        let _ = write!(style, ".line.{class}{{stroke:{colour}}}.fill.{class}{{fill:{colour}}}");
    }
    style.push_str(
        ".line.offered{stroke-dasharray:5 4;stroke-width:1.8}.line.dashed{stroke-dasharray:3 4}.line.bad{stroke-width:2}\
         .line.p50{stroke-width:3.2}.line.p95{stroke-width:2}.line.p99{stroke-width:1}",
    );
    style
}
