//! Evidence and verdict as text, HTML, Markdown, JSON and JUnit.
//!
//! Pure: a run, its workload and its judgement go in, bytes come out; no clock, no files, no terminal. [`Summary::of`]
//! computes every number once and the renderers only lay it out, so that two reports of one run cannot disagree.
//! Nothing here judges: verdicts come from the judgement. Start reading at [`summary`].

pub mod comparison;
pub mod html;
pub mod json;
pub mod junit;
pub mod live;
pub mod markdown;
pub mod number;
pub mod profiles;
mod source;
pub mod summary;
pub mod terminal;
mod text;

pub use html::html;
pub use json::json;
pub use junit::junit;
pub use live::{LiveView, WatchView};
pub use markdown::markdown;
pub use summary::{ReportError, Summary};
pub use terminal::{Style, terminal};

/// The scope of a finding as text: `phase gameplay · endpoint list`, or `the whole run`.
pub(crate) fn scope(scope: &evidence::Scope) -> String {
    let parts = [
        ("phase", &scope.phase),
        ("scenario", &scope.scenario),
        ("endpoint", &scope.endpoint),
        ("objective", &scope.objective),
        ("series", &scope.series),
    ];
    let named: Vec<String> =
        parts.iter().filter_map(|(kind, name)| Some(format!("{kind} {}", name.as_ref()?))).collect();
    if named.is_empty() { "the whole run".to_owned() } else { named.join(" · ") }
}
