//! Command lines as users of other load generators type them, each with what to write here. What would be understood as something
//! else, such as a duration as a body, is refused.

use std::ffi::OsString;
use std::path::Path;

use evidence::visible;
use workload::nearest::nearest;
use workload::units;

/// Options of other tools for an ad-hoc run, and those here.
const AD_HOC: [(&str, &str); 14] = [
    ("--vus", "-c NUMBER"),
    ("--users", "-c NUMBER"),
    ("--concurrent", "-c NUMBER"),
    ("--workers", "--loops NUMBER; processes are for plans: `plimsoll run PLAN --workers NUMBER`"),
    ("--threads", "--loops NUMBER"),
    ("--rps", "-r RATE"),
    ("--qps", "-r RATE"),
    ("-R", "-r RATE"),
    ("--request", "-m METHOD"),
    ("--data-raw", "-d TEXT"),
    ("--data-binary", "-D FILE"),
    ("--user", "-u USER:PASSWORD"),
    ("--iterations", "-n NUMBER"),
    ("--max-redirs", "--redirects NUMBER"),
];

/// The same where calls of gRPC have an option of this name.
const HTTP_ALONE: [(&str, &str); 2] = [("--concurrency", "-c NUMBER"), ("--data", "-d TEXT")];

/// Long options that vegeta and hey have with one hyphen, and those here.
const ONE_HYPHEN: [(&str, &str); 13] = [
    ("duration", "-z DURATION"),
    ("rate", "-r RATE"),
    ("body", "-D FILE"),
    ("header", "-H HEADER"),
    ("method", "-m METHOD"),
    ("timeout", "-t DURATION"),
    ("connections", "-c NUMBER"),
    ("targets", "--targets FILE"),
    ("insecure", "--insecure"),
    ("http2", "--http2"),
    ("h2", "--http2"),
    ("output", "-o FILE"),
    ("disable-keepalive", "--disable-keepalive"),
];

/// Options that a plan sets, and how.
const IN_PLANS: [(&[&str], &str); 5] = [
    (
        &["-r", "--rate", "--rps", "-c", "--connections", "--vus", "-u", "--users", "-n", "--requests"],
        "the plan sets the load; `--load FACTOR` multiplies it",
    ),
    (&["-z", "--duration", "-d"], "the plan sets durations; `--time-scale FACTOR` multiplies them"),
    (&["-k", "--insecure"], "write `tls = { insecure = true }` in the target of the plan"),
    (&["-H", "--header"], "write `headers = { … }` in the target, the scenario or the step of the plan"),
    (
        &["--objective", "--ask"],
        "objectives are in the plan's `[objectives]`; `plimsoll report RUN --objective …` judges a run file by others",
    ),
];

/// Verbs of other tools, and those here.
const VERBS: [(&str, &str); 10] = [
    ("test", "run"),
    ("start", "run"),
    ("exec", "run"),
    ("validate", "check"),
    ("lint", "check"),
    ("inspect", "check"),
    ("attack", "http"),
    ("bench", "http"),
    ("load", "http"),
    ("diff", "compare"),
];

/// What to write instead of a command line that another tool would understand.
pub(super) fn hint(arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let (verb, rest) = words.split_first()?;
    match *verb {
        "http" | "grpc" => {
            let next = rest.iter().skip(1).map(|word| Some(*word)).chain([None]);
            rest.iter().zip(next).find_map(|(option, value)| ad_hoc(verb, option, value))
        }
        "run" => rest.iter().find_map(|word| of_run(word)),
        _ => None,
    }
}

fn ad_hoc(verb: &str, option: &str, value: Option<&str>) -> Option<String> {
    let found = |table: &[(&str, &str)]| {
        table
            .iter()
            .find(|(theirs, _)| *theirs == option)
            .map(|(_, ours)| format!("write `{ours}` for `{option}`"))
    };
    if let Some(hint) = found(&AD_HOC).or_else(|| found(&HTTP_ALONE).filter(|_| verb == "http")) {
        return Some(hint);
    }
    if option == "--latency" {
        return Some("`--latency` is not needed: every report has the distribution of latency".to_owned());
    }
    let long = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let name = long.split('=').next().unwrap_or(long);
    if let Some((name, ours)) = ONE_HYPHEN.iter().find(|(theirs, _)| *theirs == name) {
        return Some(format!("write `{ours}` for `-{name}`"));
    }
    let (letter, attached) = option.split_at_checked(2)?;
    let value = if attached.is_empty() { value? } else { attached };
    match letter {
        "-q" if is_number(value) => {
            Some(format!("`-q` is --quiet, as in every command; a rate is `-r {}`", visible(value)))
        }
        "-d" if is_number(value) || units::duration(value).is_ok() => Some(format!(
            "`-d` is the body of the request; a duration is `-z {value}`. If it is the body: `--body {value}`, or \
             `--data {value}` of a gRPC call"
        )),
        "-d" if verb == "http" && value.starts_with('@') => Some(format!(
            "`-D {0}` reads the body from the file; `--body '{1}'` sends this text",
            visible(&value[1..]),
            visible(value)
        )),
        _ => None,
    }
}

/// Whether it begins as a number.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || ".smhk/".contains(c))
}

fn of_run(word: &str) -> Option<String> {
    if word.starts_with("http://") || word.starts_with("https://") {
        let url = workload::redact::shown_address(word);
        return Some(format!(
            "a URL is loaded by `plimsoll {}`; `run` takes a plan or a k6 script",
            visible(&url)
        ));
    }
    let option = word.split('=').next().unwrap_or(word);
    let (_, why) = IN_PLANS.iter().find(|(options, _)| options.contains(&option))?;
    Some(format!("`run` has no option `{option}`: {why}"))
}

/// What to write for a verb that does not exist, if anything is like it.
pub(super) fn unknown_verb<'a>(verb: &str, verbs: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let shown = visible(verb);
    if let Some((_, ours)) = VERBS.iter().find(|(theirs, _)| *theirs == verb) {
        return Some(format!("there is no verb `{shown}`: it is `plimsoll {ours}` here"));
    }
    if let Some(ending) = Path::new(verb).extension().filter(|_| Path::new(verb).is_file()) {
        let verb = if ending == "plimsoll" { "report" } else { "run" };
        return Some(format!("a verb comes before the file: `plimsoll {verb} {shown}`"));
    }
    if verb == "localhost" || verb.contains('.') {
        return Some(format!("to load a host write its URL: `plimsoll http://{shown}/`"));
    }
    let verbs: Vec<&str> = verbs.into_iter().collect();
    // Letters that changed places, as in `rnu`, are not similar in the sense of Jaro and Winkler.
    let swapped = verbs.iter().copied().find(|known| sorted(known) == sorted(verb));
    let similar = swapped.or_else(|| nearest(verb, verbs.iter().copied()))?;
    Some(format!("there is no verb `{shown}`; did you mean `{similar}`?"))
}

fn sorted(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    const VISIBLE: [&str; 5] = ["run", "check", "report", "compare", "http"];

    fn of(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let verb = words[1].to_str().unwrap();
        let is_known = VISIBLE.contains(&verb) || verb == "grpc";
        let found = if is_known { hint(&words) } else { unknown_verb(verb, VISIBLE) };
        found.unwrap_or_default()
    }

    #[test]
    fn what_users_of_other_tools_type_has_its_word_here() {
        for (line, expected) in [
            ("plimsoll http http://h/ -d 5s", "-z 5s"),
            ("plimsoll http http://h/ -c2 -d2s", "-z 2s"),
            ("plimsoll http http://h/ -d 2", "-z 2"),
            ("plimsoll http http://h/ -duration=2s", "-z DURATION"),
            ("plimsoll http http://h/ -disable-keepalive", "--disable-keepalive"),
            ("plimsoll http http://h/ -d @body.json", "-D body.json"),
            ("plimsoll http http://h/ -q 300", "-r 300"),
            ("plimsoll http http://h/ -q300", "-r 300"),
            ("plimsoll http http://h/ --latency", "not needed"),
            ("plimsoll http http://h/ --threads 4", "--loops"),
            ("plimsoll http http://h/ --vus 10", "-c NUMBER"),
            ("plimsoll http http://h/ --data x", "-d TEXT"),
            ("plimsoll run http://u:p@h/ -r 20", "plimsoll http://"),
            ("plimsoll run plan.toml -k", "tls = { insecure = true }"),
            ("plimsoll run plan.toml --vus 10", "--load FACTOR"),
            ("plimsoll run plan.toml --objective x", "[objectives]"),
            ("plimsoll validate plan.toml", "plimsoll check"),
            ("plimsoll rnu plan.toml", "did you mean `run`"),
            ("plimsoll localhost -n 5", "http://localhost/"),
        ] {
            assert!(of(line).contains(expected), "{line}: {}", of(line));
        }
    }

    #[test]
    fn what_is_meant_as_it_is_typed_is_left_alone() {
        for line in [
            "plimsoll http http://h/ -d {\"a\":1}",
            "plimsoll http http://h/ --body 5s",
            "plimsoll http http://h/ -q",
            "plimsoll http http://h/ -c 2 -z 5s -n 100",
            "plimsoll grpc h:1 a.B/C -d @message.json",
            "plimsoll grpc h:1 --data 5 --concurrency 3",
            "plimsoll run plan.toml --load 2",
        ] {
            assert_eq!(of(line), "", "{line}");
        }
    }
}
