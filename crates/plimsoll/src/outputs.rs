//! Writes the reports that were asked for.

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use ::report::{Style, Summary};

use crate::arguments::OutputArguments;
use crate::failure::{Failure, Outcome};

/// Where nothing else is known of the terminal.
const WIDTH: usize = 100;

/// Write every report that was asked for, and the summary for the terminal unless standard output is taken.
pub(crate) fn write(summary: &Summary, outputs: &OutputArguments) -> Outcome<()> {
    let OutputArguments { html, md, json, junit } = outputs;
    let asked: [(&Option<_>, fn(&Summary) -> String); 4] = [
        (html, ::report::html),
        (md, ::report::markdown),
        (json, ::report::json),
        (junit, ::report::junit),
    ];
    let is_taken = asked.iter().any(|(path, _)| path.as_deref() == Some(Path::new("-")));
    if !is_taken {
        let stdout = std::io::stdout();
        let style = if stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none() {
            Style::Colour
        } else {
            Style::Plain
        };
        put(Path::new("-"), &::report::terminal(summary, style, width()))?;
    }
    for (path, render) in asked {
        if let Some(path) = path {
            put(path, &render(summary))?;
        }
    }
    Ok(())
}

/// How wide the terminal is.
pub(crate) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    told.filter(|columns| *columns >= 40).unwrap_or(WIDTH)
}

fn put(path: &Path, text: &str) -> Outcome<()> {
    let written = if path == Path::new("-") {
        std::io::stdout().write_all(text.as_bytes())
    } else {
        std::fs::write(path, text)
    };
    written.with_context(|| format!("cannot write {}", path.display())).map_err(Failure::own)
}
