//! The loads that a diagnosis rests on.

use evidence::diagnosis::DiagnosedLevel;

use super::LoadWindow;

/// Loads that differ by at most this share are one level.
const ONE_LEVEL: f64 = 0.05;

/// The windows as levels, the lowest first: those of about the same load are one.
pub(super) fn of(windows: &[LoadWindow], breaks_per_s: Option<f64>) -> Vec<DiagnosedLevel> {
    let load = |window: &LoadWindow| window.offered_per_s.unwrap_or(window.completions_per_s);
    let mut sorted: Vec<&LoadWindow> = windows.iter().collect();
    sorted.sort_by(|a, b| load(a).total_cmp(&load(b)));
    let mut levels: Vec<Vec<&LoadWindow>> = Vec::new();
    for window in sorted {
        match levels.last_mut().filter(|level| load(window) <= load(level[0]) * (1.0 + ONE_LEVEL)) {
            Some(level) => level.push(window),
            None => levels.push(vec![window]),
        }
    }
    levels.iter().map(|level| merged(level, breaks_per_s)).collect()
}

fn merged(level: &[&LoadWindow], breaks_per_s: Option<f64>) -> DiagnosedLevel {
    let mean = |of: &dyn Fn(&LoadWindow) -> Option<f64>| {
        stats::mean(&level.iter().filter_map(|window| of(window)).collect::<Vec<_>>())
    };
    let offered_per_s = mean(&|window| window.offered_per_s);
    let completions_per_s = mean(&|window| Some(window.completions_per_s)).unwrap_or(0.0);
    let load = offered_per_s.unwrap_or(completions_per_s);
    DiagnosedLevel {
        offered_per_s,
        completions_per_s,
        response_s: mean(&|window| window.response_s),
        breaks: breaks_per_s.is_some_and(|breaks| load > breaks * (1.0 - ONE_LEVEL / 2.0)),
    }
}
