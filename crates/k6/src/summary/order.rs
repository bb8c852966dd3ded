//! In which order k6 lists metrics, and which of them belong together.

/// The characters of metric names and tags in the order of the Unicode collation algorithm; letters without their case.
const COLLATION: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz";

/// By which names are ordered: characters first, then lower case before upper case.
fn collation_key(name: &str) -> (Vec<usize>, Vec<bool>) {
    let position = |character: char| {
        let known = COLLATION.find(character.to_ascii_lowercase());
        known.unwrap_or(COLLATION.len() + character as usize)
    };
    let characters = name.chars().map(position).collect();
    (characters, name.chars().map(char::is_uppercase).collect())
}

/// The name of the metric, and the tags in braces of one that is a part.
pub(super) fn divided(name: &str) -> (&str, &str) {
    name.split_at(name.find('{').unwrap_or(name.len()))
}

/// Names as they are listed: each metric followed by its parts.
pub(super) fn ordered<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_by_cached_key(|name| {
        let (metric, part) = divided(name);
        (collation_key(metric), collation_key(part))
    });
    names
}

/// It is the part of a metric that tags select.
pub(super) fn is_part(name: &str) -> bool {
    !divided(name).1.is_empty()
}

/// The heading of metrics whose names begin with none of `PREFIXES`.
const CUSTOM: &str = "CUSTOM";
/// The headings by how names begin, the first that fits; none for metrics that are not listed.
const PREFIXES: [(&str, Option<&str>); 13] = [
    ("checks", None),
    ("group_duration", None),
    ("http_req", Some("HTTP")),
    ("vus", Some("EXECUTION")),
    ("iterations", Some("EXECUTION")),
    ("iteration_duration", Some("EXECUTION")),
    ("dropped_iterations", Some("EXECUTION")),
    ("data_sent", Some("NETWORK")),
    ("data_received", Some("NETWORK")),
    ("browser_web_vital_", Some("WEB_VITALS")),
    ("browser_", Some("BROWSER")),
    ("grpc_", Some("GRPC")),
    ("ws_", Some("WEBSOCKET")),
];
/// The headings in the order in which they are listed.
pub(super) const TITLES: [&str; 8] =
    [CUSTOM, "HTTP", "EXECUTION", "NETWORK", "BROWSER", "WEB_VITALS", "GRPC", "WEBSOCKET"];
/// What the compact summary leaves out.
pub(super) const ONLY_IN_FULL: [&str; 6] = [
    "http_req_blocked",
    "http_req_connecting",
    "http_req_receiving",
    "http_req_sending",
    "http_req_tls_handshaking",
    "http_req_waiting",
];

/// The heading that a metric is listed under; none for one that is not listed.
pub(super) fn title(name: &str) -> Option<&'static str> {
    let known = PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix));
    known.map_or(Some(CUSTOM), |(_, title)| *title)
}
