//! What each form of a report shows, with what it is about. A form that shows a number which is not known here fails.

pub(super) mod html;
pub(crate) mod terminal;

/// How much a finding weighs.
const SEVERITIES: [&str; 5] = ["invalid", "inconclusive", "fail", "caution", "info"];

/// What a form shows.
#[derive(Debug, Default)]
pub(crate) struct Form {
    /// (What it is about, the text).
    pub(crate) shown: Vec<(String, String)>,
    /// Findings: severity, rule, title, and what was found.
    pub(super) findings: Vec<String>,
    /// Reasons for verdicts, and what was judged.
    pub(super) sentences: Vec<String>,
    /// The source of an imported run, as (label, text).
    pub(super) source: Vec<(String, String)>,
}

/// A table: heads of its columns, rows of cells.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) heads: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Form {
    pub(super) fn show(&mut self, what: impl Into<String>, text: &str) {
        self.shown.push((what.into(), text.trim().to_owned()));
    }

    /// Every cell of a row of endpoints; `name` gives what a head is about.
    fn row(&mut self, what: &str, cells: &[(&str, &str)]) {
        for (head, text) in cells {
            for (name, part) in cell(head, text) {
                self.show(format!("{what}/{name}"), &part);
            }
        }
    }
}

/// The numbers of a cell: of a mean with its share, or a count with its share, two.
fn cell(head: &str, text: &str) -> Vec<(String, String)> {
    const PHASES: [(&str, &str); 6] = [
        ("blocked", "blocked"),
        ("connecting", "connecting"),
        ("tls", "tls_handshaking"),
        ("sending", "sending"),
        ("waiting", "waiting"),
        ("receiving", "receiving"),
    ];
    let one = |name: &str| vec![(name.to_owned(), text.to_owned())];
    match head {
        "failures" => one("failed"),
        "failed" => one("failed share"),
        "service p50" => one("svc p50"),
        "service p95" => one("svc p95"),
        "dropped" | "requests" | "throughput" | "due" | "received" | "sent" | "avg" | "p50" | "p90"
        | "p95" | "p99" | "max" => one(head),
        _ => {
            let named = PHASES.iter().find(|(of, _)| *of == head.to_lowercase());
            let Some((_, name)) = named else {
                panic!("the column `{head}` is not known to this test: {text}")
            };
            // A phase that took no time has no share.
            let Some(at) = text.rfind([' ']).filter(|_| text.contains('%')) else {
                return one(&format!("{name} mean"));
            };
            let at = text[..at].rfind(' ').unwrap_or(at);
            let (mean, share) = text.split_at(at);
            vec![
                (format!("{name} mean"), mean.trim().to_owned()),
                (format!("{name} share"), share.trim().to_owned()),
            ]
        }
    }
}

/// How a run ended; nothing where it completed.
fn end(form: &mut Form, text: &str) {
    if text == "completed" {
        return;
    }
    let (name, at, of) = match captured("{} at {} s of {} s", text) {
        Some(found) => ("run/stopped at", found[1], found[2]),
        None => {
            let [_, second, of] = parts("{} at second {} of {}", text);
            ("run/seconds", second, of)
        }
    };
    form.show(name, at);
    form.show("run/planned seconds", of);
}

/// What became of the requests of a phase: `60 requests begun = 50 completed + 0 cancelled + 10 more in flight`.
fn phase_requests(form: &mut Form, phase: &str, text: &str) {
    let begun = "{} requests begun = {} completed + {} cancelled";
    let more = captured(&format!("{begun} + {{}} more in flight"), text);
    let fewer = || parts::<4>(&format!("{begun} − {{}} that were in flight before"), text).to_vec();
    let names = ["begun", "completed", "cancelled", "growth"];
    for (name, count) in names.iter().zip(more.unwrap_or_else(fewer)) {
        form.show(format!("phase/{phase}/{name}"), count);
    }
}

/// From when to when a phase was offered, and its planned end where that is another: `4 to 5.3 s, cut short of 18 s`.
fn phase_when(form: &mut Form, phase: &str, text: &str) {
    let when = match captured("{}, cut short of {} s", text).as_deref() {
        Some([when, planned]) => {
            form.show(format!("phase/{phase}/planned end"), planned);
            when
        }
        _ => text,
    };
    form.show(format!("phase/{phase}/when"), when);
}

/// What the table of a phase counts beside the requests that began in it: `62 in the table = 60 begun + 3 begun after the
/// phase − 1 of iterations from before it`.
fn beside_table(form: &mut Form, phase: &str, text: &str) {
    let base = "{} in the table = {} begun";
    let (after, earlier) = (" + {} begun after the phase", " − {} of iterations from before it");
    let (forms, names) = (
        [format!("{base}{after}{earlier}"), format!("{base}{after}"), format!("{base}{earlier}")],
        [&["begun after", "begun by earlier"][..], &["begun after"], &["begun by earlier"]],
    );
    let found = forms.iter().zip(names).find_map(|(form, names)| Some((captured(form, text)?, names)));
    let (parts, names) = found.unwrap_or_else(|| panic!("not known: `{text}`"));
    form.show(format!("phase/{phase}/in the table"), parts[0]);
    form.show(format!("phase/{phase}/begun"), parts[1]);
    for (name, count) in names.iter().zip(&parts[2..]) {
        form.show(format!("phase/{phase}/{name}"), count);
    }
}

/// The parts of a text of this form that replace its `{}`.
pub(super) fn captured<'a>(form: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut parts = form.split("{}");
    let mut rest = text.strip_prefix(parts.next()?)?;
    let mut found = Vec::new();
    let parts: Vec<&str> = parts.collect();
    for (index, part) in parts.iter().enumerate() {
        let at = match (part.is_empty(), index + 1 == parts.len()) {
            (true, _) => rest.len(),
            (false, true) => rest.len().checked_sub(part.len()).filter(|at| rest.is_char_boundary(*at))?,
            (false, false) => rest.find(part)?,
        };
        found.push(&rest[..at]);
        rest = rest[at..].strip_prefix(part)?;
    }
    rest.is_empty().then_some(found)
}

/// The parts that replace the `{}` of the form; a text of another form is not known to this test.
#[track_caller]
pub(super) fn parts<'a, const N: usize>(form: &str, text: &'a str) -> [&'a str; N] {
    let found = captured(form, text).unwrap_or_else(|| panic!("not of the form `{form}`: `{text}`"));
    found.try_into().unwrap_or_else(|_| panic!("`{form}` has not {N} places"))
}

/// The virtual users of a scenario, in words.
fn virtual_users(form: &mut Form, scenario: &str, text: &str) {
    let (text, cap) = text.rsplit_once(" of ").unwrap_or_else(|| panic!("not on virtual users: {text}"));
    let [cap] = parts("{} allowed", cap);
    form.show(format!("scenario/{scenario}/cap"), cap);
    for part in text.split(", ") {
        let (name, [number]) = match part.starts_with("needed") {
            true => ("needed", parts("needed about {} virtual users (Little's law)", part)),
            false => ("used_at_most", parts("used at most {}", part)),
        };
        form.show(format!("scenario/{scenario}/{name}"), number);
    }
}

/// The figures of a claim: what was observed, the limit, the interval, the number of samples.
/// A reason of a claim; the rules that decided it have their findings elsewhere.
fn reason(form: &mut Form, text: &str) {
    if !text.starts_with("because of ") {
        form.sentences.push(text.to_owned());
    }
}

/// What a rule, of which the card says `severity rule title`, found in one place. A place of less weight says so first.
fn finding(form: &mut Form, card: &str, [place, what]: [&str; 2]) {
    let (severity, rule) = card.split_once(' ').unwrap();
    let (severity, scope) = match place.split_once(" · ") {
        Some((own, scope)) if SEVERITIES.contains(&own) => (own, scope),
        _ => (severity, place),
    };
    form.sentences.push(scope.to_owned());
    form.findings.push(format!("{severity} {rule}: {what}"));
}

fn claim(form: &mut Form, name: &str, [observed, limit, interval, samples]: [&str; 4]) {
    form.show(format!("claim/{name}/observed"), observed);
    let limit = limit.trim_start_matches(['<', '>', '≤', '≥', ' ']);
    form.show(format!("claim/{name}/limit"), limit);
    let ends = captured("{} to {}", interval).or_else(|| Some(vec![captured("≥ {}", interval)?[0], "–"]));
    let ends = ends.unwrap_or_else(|| vec![interval, interval]);
    form.show(format!("claim/{name}/low"), ends[0]);
    form.show(format!("claim/{name}/high"), ends[1]);
    form.show(format!("claim/{name}/n"), samples);
}

/// The last resort: a text with a digit that nothing above recognised.
#[track_caller]
fn must_be_known(text: &str, known: &[&str]) {
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    assert!(!has_digit || known.contains(&text), "a number that is not known to this test: `{text}`");
}
