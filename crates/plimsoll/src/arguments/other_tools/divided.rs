//! Objectives and headers without quotes, which a shell has divided into words.

use evidence::visible;

use super::is_url;

/// Such an objective or header with its quotes.
pub(super) fn hints(words: &[&str]) -> Vec<String> {
    let objective = |three: &&[&str]| {
        ["--objective", "--ask", "--slo"].contains(&three[0])
            && !three[1].contains(['<', '>', ' '])
            && three[2].starts_with(['<', '>'])
    };
    let header = |three: &&[&str]| {
        ["-H", "--header"].contains(&three[0])
            && three[1].len() > 1
            && three[1].ends_with(':')
            && !three[2].starts_with('-')
            && !is_url(three[2])
    };
    let of_objective = words.windows(3).position(|three| objective(&three)).map(|at| {
        // Where the comparison is a word of its own, the bound is the next.
        let more = if words[at + 2].trim_start_matches(['<', '>', '=']).is_empty() { 4 } else { 3 };
        let divided: Vec<&str> = words.iter().skip(at + 1).take(more - 1).copied().collect();
        format!("put the objective in quotes: `{} '{}'`", words[at], visible(&divided.join(" ")))
    });
    let of_header = words
        .windows(3)
        .find(header)
        .map(|three| format!("put the header in quotes: `{} '{} …'`", three[0], visible(three[1])));
    of_objective.into_iter().chain(of_header).collect()
}
