//! Command lines as users of other load generators type them, each with what to write here. What would be understood as something
//! else, such as a duration as a body, is refused.

mod calls;
mod divided;
mod files;
mod locust;
mod tables;
mod unquoted;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use conduct::file_kind::{self, FileKind};
use evidence::visible;
use workload::nearest::nearest;
use workload::units;

use super::verbs::SCRIPT_VERB;
use tables::{
    AD_HOC, GRPC_ALONE, HTTP_ALONE, IN_PLANS, IN_SCRIPTS, JMETER, NOT_NEEDED, OF_OTHER_VERBS, ONE_HYPHEN,
    TOOLS, VERBS,
};

/// What to write instead of a command line that another tool would understand: a sentence a line.
pub(super) fn hint(arguments: &[OsString]) -> Option<String> {
    let words: Vec<&str> = arguments.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let (verb, rest) = words.split_first()?;
    let next = rest.iter().skip(1).map(|word| Some(*word)).chain([None]);
    let each = rest.iter().copied().zip(next);
    let mut hints: Vec<String> = match *verb {
        "http" | "grpc" => each.filter_map(|(option, value)| ad_hoc(verb, option, value)).collect(),
        "run" => of_run(rest).into_iter().collect(),
        SCRIPT_VERB => {
            let elsewhere = rest.iter().find_map(|word| files::of_another_machine(word));
            elsewhere.into_iter().chain(each.filter_map(|(word, _)| of_script(word))).collect()
        }
        option if option.starts_with('-') && !ROOT_OPTIONS.contains(&option) => vec![without_verb(&words)],
        "ab" if follows(rest, &["--a", "--b"], is_url) => vec![AB_OF_URLS.to_owned()],
        "ab" if is_of_apache(rest) => vec![AB_OF_APACHE.to_owned()],
        verb => rest.iter().filter_map(|word| of_other_verbs(verb, word)).collect(),
    };
    if let Some(call) = rest.first().filter(|_| *verb == "grpc").and_then(|first| calls::joined(first)) {
        hints.push(call);
    }
    hints.extend(calls::reversed(rest).filter(|_| *verb == "grpc"));
    hints.extend(divided::hints(rest));
    if let Some(dash) = words.iter().find_map(|word| long_dash(word)) {
        hints = vec![dash];
    }
    hints.extend(unquoted::hint(verb, rest).filter(|_| ["http", "grpc"].contains(verb)));
    if let Some(locust) = locust::hint(&words) {
        hints = vec![locust];
    }
    let mut seen = BTreeSet::new();
    hints.retain(|hint| seen.insert(hint.clone()));
    (!hints.is_empty()).then(|| hints.join("\n"))
}

const ROOT_OPTIONS: [&str; 4] = ["-h", "--help", "-V", "--version"];
const VERB_MISSING: &str = "a verb or a URL is missing: `plimsoll run PLAN` runs a plan or a k6 script, `plimsoll URL` \
                            loads a URL; `plimsoll --help` lists all verbs";

const TARGETS_ALONE: &str = "`--targets` is an option of the verb `http`: `plimsoll http --targets FILE`";

const AB_OF_URLS: &str = "`--a` and `--b` are commands that start the two versions, such as `--a ./old --b ./new`; two that run already are \
                          loaded by `plimsoll run PLAN --target NAME=URL -o FILE.plimsoll` each, then compared by `plimsoll compare`";

/// What is said where there is neither a verb nor a URL.
fn without_verb(words: &[&str]) -> String {
    let has = |option: &str| words.iter().any(|word| word.split('=').next() == Some(option));
    let is_of_jmeter = words.iter().any(|word| word.ends_with(".jmx"));
    let said = if has("--targets") {
        TARGETS_ALONE
    } else if is_of_jmeter {
        JMETER
    } else {
        VERB_MISSING
    };
    said.to_owned()
}

/// Whether one of these options has a value like this.
fn follows(words: &[&str], options: &[&str], is_it: impl Fn(&str) -> bool) -> bool {
    words.windows(2).any(|pair| options.contains(&pair[0]) && is_it(pair[1]))
}

/// Whether one URL is there that is the value of no long option, such as `--ready`; two are those of two versions.
fn is_of_apache(words: &[&str]) -> bool {
    let before = std::iter::once("").chain(words.iter().copied());
    before.zip(words).filter(|(before, word)| is_url(word) && !before.starts_with("--")).count() == 1
}

const AB_OF_APACHE: &str = "`plimsoll ab` compares two versions of a program; the load of ApacheBench is \
                            `plimsoll URL -n NUMBER -c NUMBER`";

/// What to write for an option that the verb does not have, if another tool has one of a similar name.
pub(super) fn of_similar_option<'a>(
    verb: &str,
    option: &'a str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    if known.into_iter().any(|known| is_nearly(option, known)) {
        return None;
    }
    let is_meant = |theirs: &&str| is_nearly(option, theirs);
    match verb {
        "http" => {
            ad_hoc(verb, AD_HOC.iter().chain(&HTTP_ALONE).map(|(theirs, _)| *theirs).find(is_meant)?, None)
        }
        "run" => of_plan(IN_PLANS.iter().flat_map(|(theirs, _)| *theirs).copied().find(is_meant)?),
        _ => None,
    }
}

/// Whether the words are long, and differ by two letters at most, wherever those are.
fn is_nearly(word: &str, other: &str) -> bool {
    let (mut left, mut right) = (sorted(word), sorted(other));
    let common = left.clone();
    left.retain(|letter| !other.contains(*letter));
    right.retain(|letter| !common.contains(letter));
    let lengths = word.chars().count().abs_diff(other.chars().count());
    word.chars().count() > 6 && lengths <= 2 && left.len() + right.len() <= 2
}

fn ad_hoc(verb: &str, option: &str, value: Option<&str>) -> Option<String> {
    let found = |table: &[(&str, &str)]| {
        table
            .iter()
            .find(|(theirs, _)| *theirs == option)
            .map(|(_, ours)| format!("write `{ours}` for `{option}`"))
    };
    let alone = if verb == "http" { &HTTP_ALONE[..] } else { &GRPC_ALONE };
    if let Some(hint) = found(&AD_HOC).or_else(|| found(alone)) {
        return Some(hint);
    }
    if let Some(hint) = of_list(&NOT_NEEDED, option) {
        return Some(format!("`{option}` is not needed: {hint}"));
    }
    if ["ws://", "wss://"].iter().any(|scheme| option.starts_with(scheme)) {
        return Some(
            "WebSockets are not loaded; HTTP and gRPC are: `plimsoll URL`, `plimsoll grpc HOST:PORT`"
                .to_owned(),
        );
    }
    if let Some(hint) = not_had(option) {
        return Some(hint);
    }
    if let Some((scheme, rest)) =
        option.split_once("//").filter(|(scheme, _)| ["http", "https"].contains(scheme))
    {
        return Some(format!("a colon follows the scheme: `{scheme}://{}`", visible(rest)));
    }
    let long = option.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let name = long.split('=').next().unwrap_or(long);
    if let Some((name, ours)) = ONE_HYPHEN.iter().find(|(theirs, _)| *theirs == name) {
        return Some(format!("write `{ours}` for `-{name}`"));
    }
    let (letter, attached) = option.split_at_checked(2)?;
    let value = if attached.is_empty() { value? } else { attached };
    let is_http = verb == "http";
    match letter {
        // `-sS` and `-sSL` of curl.
        "-s" if attached.starts_with('S') => {
            of_list(&NOT_NEEDED, "-S").map(|why| format!("`{option}` is not needed: {why}"))
        }
        "-R" if !attached.is_empty() && is_number(attached) => {
            Some(format!("write `-r {attached}` for `{option}`"))
        }
        "-o" if value == "/dev/null" => {
            Some("`-o` names the run file; responses are not kept: leave it out".to_owned())
        }
        "-t" if is_bare(value) && value != "0" => Some(format!(
            "`-t` is the time limit of a response, with a unit: `-t {value}s`; threads are `--loops {value}`"
        )),
        "-p" if is_http && !is_number(value) && !value.starts_with('-') => {
            Some(format!("`-p` is --parallel; a body from a file is `-D {}`", visible(value)))
        }
        "-q" if is_number(value) => {
            Some(format!("`-q` is --quiet, as in every command; a rate is `-r {}`", visible(value)))
        }
        "-d" if is_number(value) || units::duration(value).is_ok() => Some(format!(
            "`-d` is the body of the request; a duration is `-z {value}{}`. If it is the body: `--body {value}`, or \
             `--data {value}` of a gRPC call",
            if is_bare(value) { "s" } else { "" }
        )),
        "-d" if is_http && value.starts_with('@') => Some(format!(
            "`-D {0}` reads the body from the file; `--body '{1}'` sends this text",
            visible(&value[1..]),
            visible(value)
        )),
        _ => None,
    }
}

/// A hyphen that a word processor or a page made longer.
fn long_dash(word: &str) -> Option<String> {
    let name = word.strip_prefix(['–', '—', '−'])?;
    let hyphens = if name.chars().count() > 1 { "--" } else { "-" };
    let name = name.trim_start_matches(['–', '—', '−', '-']);
    Some(format!(
        "`{}` begins with a long dash, not with a hyphen: write `{hyphens}{}`",
        visible(word),
        visible(name)
    ))
}

/// What no ad-hoc run has.
fn not_had(option: &str) -> Option<String> {
    if ["--burst-delay", "--burst-rate"].contains(&option) {
        return Some(format!(
            "`{option}`: bursts are for plans, which have stages of a rate: `plimsoll new URL` begins one"
        ));
    }
    if ["--http3", "--h3", "--quic"].contains(&option) {
        return Some(format!("`{option}`: HTTP/3 is not supported; HTTP/2 is `--http2`"));
    }
    None
}

fn of_other_verbs(verb: &str, word: &str) -> Option<String> {
    let option = word.split('=').next().unwrap_or(word);
    let is_it =
        |(verbs, options, _): &&(&[&str], &[&str], &str)| verbs.contains(&verb) && options.contains(&option);
    OF_OTHER_VERBS.iter().find(is_it).map(|(.., why)| format!("`{verb}` has no option `{option}`: {why}"))
}

fn of_list(table: &[(&[&'static str], &'static str)], option: &str) -> Option<&'static str> {
    table.iter().find(|(options, _)| options.contains(&option)).map(|(_, why)| *why)
}

fn is_bare(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn is_url(word: &str) -> bool {
    word.starts_with("http://") || word.starts_with("https://")
}

/// Whether it begins as a number.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || ".smhk/".contains(c))
}

/// The first word that `run` does not understand.
fn of_run(words: &[&str]) -> Option<String> {
    let before = std::iter::once("").chain(words.iter().copied());
    before.zip(words).find_map(|(before, word)| match (before, is_url(word)) {
        ("--workers", _) if word.contains(':') => Some(format!(
            "`--workers` is a number of processes here; workers elsewhere are `--worker {}`",
            visible(word)
        )),
        ("--target", true) => {
            let url = workload::redact::shown_address(word);
            Some(format!("a target has a name in the plan: `--target NAME={}`", visible(&url)))
        }
        (_, true) if let Some(elsewhere) = files::of_another_machine(word) => Some(elsewhere),
        (_, true) => {
            let url = workload::redact::shown_address(word);
            Some(format!(
                "a URL is loaded by `plimsoll {}`; `run` takes a plan or a k6 script",
                visible(&url)
            ))
        }
        _ => of_plan(word),
    })
}

fn of_plan(word: &str) -> Option<String> {
    let option = word.split('=').next().unwrap_or(word);
    let why = of_list(&IN_PLANS, option)?;
    Some(format!("`run` has no option `{option}`: {why}"))
}

fn of_script(word: &str) -> Option<String> {
    let option = word.split('=').next().unwrap_or(word);
    let why = of_list(&IN_SCRIPTS, option)?;
    Some(format!("a script has no option `{option}`: {why}"))
}

/// What to write for a verb that does not exist, if anything is like it.
pub(super) fn unknown_verb<'a>(verb: &str, verbs: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let shown = visible(verb);
    if verb.is_empty() {
        return Some(VERB_MISSING.to_owned());
    }
    if is_bare(verb) && verb.parse::<u16>().is_ok_and(|port| port > 0) {
        return Some(format!("a port of this machine has a colon: `plimsoll :{verb}`"));
    }
    if let Some(ours) = of_list(&VERBS, verb) {
        return Some(format!("there is no verb `{shown}`: it is `{ours}` here"));
    }
    if let Some(ours) = of_list(&TOOLS, verb) {
        return Some(format!("`{shown}` is another tool and not a verb: write `{ours}`"));
    }
    if let Some(locust) = locust::of_file(verb) {
        return Some(locust.to_owned());
    }
    if let Some(ending) = Path::new(verb).extension().filter(|_| Path::new(verb).is_file()) {
        let accepted = [FileKind::Plan, FileKind::Script, FileKind::RunFile];
        if let Err(other) = file_kind::refuse_others(Path::new(verb), &accepted) {
            return Some(other.text().trim_end().trim_start_matches("plimsoll: ").to_owned());
        }
        let verb = if ending == "plimsoll" { "report" } else { "run" };
        return Some(format!("a verb comes before the file: `plimsoll {verb} {shown}`"));
    }
    if let Some(file) = files::misspelt(verb) {
        return Some(file);
    }
    if verb.split('/').next() == Some("localhost") || verb.contains('.') {
        let end = if verb.contains('/') { "" } else { "/" };
        return Some(format!("to load a host write its URL: `plimsoll http://{shown}{end}`"));
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
    use clap::CommandFactory as _;

    use super::super::Arguments;
    use super::*;

    const VISIBLE: [&str; 5] = ["run", "check", "report", "compare", "http"];

    fn of(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let verb = words[1].to_str().unwrap();
        let is_known = VISIBLE.contains(&verb)
            || ["grpc", "ab", "quick", SCRIPT_VERB].contains(&verb)
            || verb.starts_with('-');
        let found = if is_known { hint(&words) } else { unknown_verb(verb, VISIBLE) };
        found.unwrap_or_default()
    }

    /// What is typed, and what the answer has.
    const ANSWERS: &[(&str, &str)] = &[
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
        ("plimsoll http http://h/ -t4 -c100 -d30s", "-t 4s"),
        ("plimsoll http http://h/ -t4 -c100 -d30s", "-z 30s"),
        ("plimsoll http http://h/ -p body.json", "-D body.json"),
        ("plimsoll http http://h/ -sS", "-q"),
        ("plimsoll http http://h/ -i", "--once"),
        ("plimsoll http https//h/", "`https://h/`"),
        ("plimsoll grpc h:1/a.B/C", "`plimsoll grpc h:1 a.B/C`"),
        ("plimsoll report a.plimsoll --format=markdown", "`--md FILE`"),
        ("plimsoll check plan.toml --rate 5", "`--load FACTOR`"),
        ("plimsoll http http://h/ -o /dev/null", "leave it out"),
        ("plimsoll run plan.toml --target http://h/", "--target NAME=http://h"),
        ("plimsoll -f x --headless", "a verb or a URL is missing"),
        ("plimsoll http http://h/ --no-tui", "-q"),
        ("plimsoll http http://h/ -j", "--json -"),
        ("plimsoll http http://h/ -F a=b", "multipart/form-data"),
        ("plimsoll grpc h:1 --call a.B/C", "SERVICE/METHOD"),
        ("plimsoll ab -n 100 http://h/", "plimsoll URL -n NUMBER"),
        ("plimsoll run plan.toml -e A=1", "NAME=VALUE plimsoll run PLAN"),
        ("plimsoll run -f locustfile.py --headless", "plimsoll run PLAN"),
        ("plimsoll wrk -t4 http://h/", "plimsoll URL -c NUMBER"),
        ("plimsoll k6 run a.js", "plimsoll run SCRIPT.js"),
        ("plimsoll attack -rate=5", "plimsoll http --targets FILE"),
        ("plimsoll init", "plimsoll new"),
        ("plimsoll curl -X POST http://h/", "`plimsoll new curl …`"),
        ("plimsoll 18941", "`plimsoll :18941`"),
        ("plimsoll  -n 5", "a verb or a URL is missing"),
        ("plimsoll run https://h/x/plan.toml", "`plimsoll run plan.toml`"),
        ("plimsoll run plan.toml --dry-run", "`plimsoll check PLAN`"),
        ("plimsoll http http://h/ –n 50", "begins with a long dash, not with a hyphen: write `-n`"),
        ("plimsoll http http://h/ -t4s -R50", "write `-r 50` for `-R50`"),
        ("plimsoll http http://h/ --burst-rate 4", "have stages of a rate"),
        ("plimsoll http http://h/ -n 100 -cpus 2", "--loops NUMBER"),
        ("plimsoll http http://h/ --threshold x", "--objective"),
        ("plimsoll run plan.toml --tag a=b", "a scenario of the plan tags its requests"),
        ("plimsoll report a.plimsoll --open", "--html FILE"),
        ("plimsoll report --last", "ls -t *.plimsoll"),
        ("plimsoll report a.plimsoll --phase steady", "phase = NAME"),
        ("plimsoll compare a.plimsoll b.plimsoll --threshold 5%", "plimsoll ab"),
        ("plimsoll --targets u.txt", "plimsoll http --targets FILE"),
        ("plimsoll http -u 100 -r 10 --host http://h/ --headless", "`plimsoll http://h/ -c 100 -z DURATION`"),
        ("plimsoll -u 100 -r 10 --host h:8000 --headless", "`plimsoll h:8000 -c 100"),
        ("plimsoll -f locustfile.py", "a Locust file (Python) is not run"),
        ("plimsoll locustfile.py --headless", "a Locust file (Python) is not run"),
        ("plimsoll run locustfile.py --headless", "a Locust file (Python) is not run"),
        ("plimsoll run -J x.jmx", "JMeter's plans are not run"),
        ("plimsoll -n -t x.jmx -l out.jtl", "JMeter's plans are not run"),
        ("plimsoll run locustfile.py -u 10", "a Locust file (Python) is not run"),
        ("plimsoll run plan.toml --no-thresholds", "without `[objectives]`"),
        ("plimsoll cloud script.js", "`plimsoll run SCRIPT.js`, on more machines with `--worker HOST:PORT`"),
        ("plimsoll ab --a http://h/ --b http://g/ plan.toml", "commands that start"),
        ("plimsoll report a.plimsoll --objective p95 < 50ms", "`--objective 'p95 < 50ms'`"),
        ("plimsoll http http://h/ --ask p95 <50ms", "`--ask 'p95 <50ms'`"),
        ("plimsoll http http://h/ -H Authorization: Bearer abc", "`-H 'Authorization: …'`"),
    ];

    #[test]
    fn what_users_of_other_tools_type_has_its_word_here() {
        for (line, expected) in ANSWERS {
            assert!(of(line).contains(expected), "{line}: {}", of(line));
        }
    }

    #[test]
    fn an_option_is_of_another_tool_if_none_here_is_nearly_it() {
        let known = ["--requests", "--once", "--redirects"];
        assert!(
            of_similar_option("http", "--concurency", known).is_some_and(|said| said.contains("-c NUMBER"))
        );
        for other in ["--requets", "--burst-delay", "--zzz"] {
            assert_eq!(of_similar_option("http", other, known), None, "{other}");
        }
    }

    /// An option that exists is not one of another tool.
    #[test]
    fn no_option_of_the_tables_is_one_here() {
        let command = Arguments::command();
        let has = |verb: &str, option: &str| {
            let verb = command.find_subcommand(verb).expect("the verb exists");
            verb.get_arguments().any(|argument| {
                let longs = argument.get_long_and_visible_aliases().unwrap_or_default();
                let shorts = argument.get_short_and_visible_aliases().unwrap_or_default();
                longs.iter().any(|long| option == format!("--{long}"))
                    || shorts.iter().any(|short| option == format!("-{short}"))
            })
        };
        let of_lists = |table: &[(&[&'static str], &str)]| -> Vec<&'static str> {
            table.iter().flat_map(|(options, _)| options.iter().copied()).collect()
        };
        let names = |table: &[(&'static str, &str)]| -> Vec<&'static str> {
            table.iter().map(|(option, _)| *option).collect()
        };
        let of_tools = [
            ("http", [names(&AD_HOC), names(&HTTP_ALONE), of_lists(&NOT_NEEDED)].concat()),
            ("grpc", [names(&AD_HOC), names(&GRPC_ALONE), of_lists(&NOT_NEEDED)].concat()),
            ("run", of_lists(&IN_PLANS)),
            (SCRIPT_VERB, of_lists(&IN_SCRIPTS)),
        ];
        let of_verbs = OF_OTHER_VERBS
            .iter()
            .flat_map(|(verbs, options, _)| verbs.iter().map(|verb| (*verb, options.to_vec())));
        for (verb, options) in of_tools.into_iter().chain(of_verbs) {
            let clashing: Vec<_> = options.into_iter().filter(|option| has(verb, option)).collect();
            assert_eq!(clashing, [""; 0], "{verb}");
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
            "plimsoll ab plan.toml --a ./x --b ./y --ready http://h/",
            "plimsoll http http://h/ -H x-id: -n 5",
            "plimsoll http http://h/ -H host:8000 --once",
        ] {
            assert_eq!(of(line), "", "{line}");
        }
    }
}
