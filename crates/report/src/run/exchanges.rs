//! Recorded exchanges, on a page.

use evidence::Exemplar;

use crate::document::{Block, Exchange, Forms, ParagraphKind, Section};
use crate::number;
use crate::summary::{Row, Summary};

/// The most exchanges of a kind that are shown; the archive has all.
const MAX_EXCHANGES: usize = 40;
/// A longer body or header value is cut, in bytes; the archive has the rest.
const MAX_TEXT: usize = 2_048;

/// Those that failed, and the slowest.
pub(super) fn sections(summary: &Summary) -> impl Iterator<Item = Section> {
    let kinds = [
        ("failed-exchanges", "Failed exchanges", &summary.failed),
        ("slowest-exchanges", "Slowest exchanges", &summary.slowest),
    ];
    let shown = kinds.into_iter().filter(|(.., exchanges)| !exchanges.is_empty());
    shown.map(|(id, heading, exchanges)| {
        let shown = exchanges.iter().take(MAX_EXCHANGES);
        let mut blocks: Vec<Block> = shown.map(|of| Block::Exchange(exchange(summary, of))).collect();
        if exchanges.len() > MAX_EXCHANGES {
            let more = format!("{} more are in the run file.", exchanges.len() - MAX_EXCHANGES);
            blocks.push(Block::text(ParagraphKind::Hint, more));
        }
        Section::new(id, heading, blocks).only(Forms::Page)
    })
}

fn exchange(summary: &Summary, exemplar: &Exemplar) -> Exchange {
    let is_its = |row: &&Row| row.scenario == *exemplar.scenario && row.endpoint == *exemplar.endpoint;
    let label = summary.rows.iter().find(is_its).map_or(&*exemplar.endpoint, |row| &row.label);
    let ms = |ns: u64| ns as f64 / 1e6;
    let trace = exemplar.trace_id.as_ref().map(|id| format!("\ntrace {id}")).unwrap_or_default();
    let status = exemplar.status.map_or_else(|| "no response".to_owned(), |s| format!("status {s}"));
    Exchange {
        outcome: exemplar.outcome.to_string(),
        is_failure: exemplar.outcome.is_failure(),
        endpoint: label.to_owned(),
        phase: exemplar.phase.to_string(),
        at: number::run_time(exemplar.due.offset().as_secs_f64()),
        response_time: number::time(ms(exemplar.response_time_ns)),
        service_time: match exemplar.service_time_ns {
            0 => number::NOT_MEASURED.to_owned(),
            service => number::time(ms(service)),
        },
        detail: exemplar.detail.clone(),
        request: message(&exemplar.request, &exemplar.request_headers, &exemplar.request_body) + &trace,
        response: message(&status, &exemplar.response_headers, &exemplar.response_body),
    }
}

fn message(first: &str, headers: &[(String, String)], body: &str) -> String {
    let mut text = first.to_owned();
    for (name, value) in headers {
        text.push_str(&format!("\n{name}: {}", cut(value, MAX_TEXT)));
    }
    if !body.is_empty() {
        text.push_str(&format!("\n\n{}", cut(body, MAX_TEXT)));
    }
    text
}

/// Text of at most so many bytes, with how many more there are.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    let end = text.floor_char_boundary(bytes.min(text.len()));
    if end < text.len() {
        format!("{}… ({} bytes more)", &text[..end], text.len() - end)
    } else {
        text.to_owned()
    }
}
