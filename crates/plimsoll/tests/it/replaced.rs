//! Reports never replace what nobody can make again: evidence, plans, scripts, other inputs, and each other.

use testbed::Behaviour;

use crate::command::{TestFolder, closed, refusal};

/// Every file that is there, each of another kind.
const FILES: [&str; 9] = [
    "a.plimsoll",
    "b.plimsoll",
    "c.plimsoll",
    "plan.toml",
    "ab.toml",
    "visit.js",
    "users.csv",
    "results.json",
    "list.txt",
];

fn folder() -> TestFolder {
    let plan = format!("[data.users]\nfile = \"users.csv\"\n{}", closed(refusal().addr(), 1));
    let folder = TestFolder::new(&plan);
    folder.write("users.csv", "id,name\n1,a\n");
    folder.write("list.txt", "GET http://127.0.0.1:1/\n");
    folder.write("ab.toml", "plan = \"plan.toml\"\n[arms.a]\nstart = \"x\"\n[arms.b]\nstart = \"y\"\n");
    folder.write(
        "visit.js",
        "import http from 'k6/http';\nconst users = open('./users.csv');\nexport default function () {}\n",
    );
    folder.write("results.json", "{\"code\":200,\"timestamp\":\"2026-11-21T09:30:00Z\",\"latency\":5}\n");
    for name in ["a.plimsoll", "b.plimsoll", "c.plimsoll"] {
        folder.plimsoll(&["import", "results.json", "-o", name]).exits_with(0);
    }
    std::fs::create_dir(folder.path("sub")).unwrap();
    std::os::unix::fs::symlink("../a.plimsoll", folder.path("sub/link.html")).unwrap();
    std::fs::hard_link(folder.path("plan.toml"), folder.path("sub/plan.xml")).unwrap();
    folder
}

const RUN_FILE: &str = "is a run file, and a report would replace it";

/// Command lines, and what is said of each.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "compare --md a.plimsoll b.plimsoll c.plimsoll",
        &[
            "`a.plimsoll` is a run file, and a report would replace it: `--md FILE` takes the file to write, such as `--md report.md`",
        ],
    ),
    ("compare a.plimsoll b.plimsoll --html a.plimsoll", &[RUN_FILE, "`--html report.html`"]),
    ("report --html a.plimsoll b.plimsoll", &[RUN_FILE]),
    ("report a.plimsoll --json a.plimsoll", &[RUN_FILE, "`--json report.json`"]),
    ("report a.plimsoll --html sub/link.html", &["`sub/link.html` is a run file"]),
    ("report a.plimsoll --json sub/../b.plimsoll", &[RUN_FILE]),
    ("report a.plimsoll --junit plan.toml", &["`plan.toml` is a plan, and a report would replace it"]),
    ("report a.plimsoll --junit ab.toml", &["`ab.toml` is an experiment"]),
    ("report a.plimsoll --md visit.js", &["`visit.js` is a k6 script"]),
    ("export --hdr a.plimsoll b.plimsoll", &["is a run file, and the export would replace it"]),
    ("export b.plimsoll --openmetrics a.plimsoll", &["is a run file"]),
    ("run plan.toml -o e.plimsoll --json e.plimsoll", &["`--json` and `-o` name one file, `e.plimsoll`"]),
    ("run plan.toml -o e.plimsoll --json ./sub/../e.plimsoll", &["name one file"]),
    ("run plan.toml --html plan.toml", &["`plan.toml` is a plan", "`--html report.html`"]),
    ("run plan.toml --junit sub/plan.xml", &["`sub/plan.xml` is a plan"]),
    ("run plan.toml --json users.csv", &["`users.csv` is a table (CSV), and a report would replace it"]),
    ("run plan.toml -o plan.toml --force", &["`plan.toml` is a plan, and the run file would replace it"]),
    ("run plan.toml --force -o ab.toml", &["`ab.toml` is an experiment"]),
    (
        "http http://127.0.0.1:1/ --force -o visit.js",
        &["`visit.js` is a k6 script, and the run file would replace it"],
    ),
    ("run visit.js --summary-export visit.js", &["is a k6 script, and the summary would replace it"]),
    ("run visit.js --json users.csv", &["`users.csv` is a table (CSV)"]),
    ("run visit.js -o json=plan.toml", &["`plan.toml` is a plan, and a file of values would replace it"]),
    ("run visit.js --evidence x.plimsoll --html x.plimsoll", &["name one file"]),
    ("ab ab.toml --json plan.toml", &["`plan.toml` is a plan"]),
    ("import results.json --json results.json", &["`results.json` has results of another tool"]),
    ("http http://127.0.0.1:1/ -D users.csv --json users.csv", &["`users.csv` is a table (CSV)"]),
    ("http --targets list.txt --md list.txt", &["`list.txt` is a list of requests"]),
    ("http http://127.0.0.1:1/ --html a.plimsoll", &[RUN_FILE]),
    ("quick http://127.0.0.1:1/ --html a.plimsoll", &[RUN_FILE]),
    ("leaks a.plimsoll --html a.plimsoll", &[RUN_FILE]),
    ("report a.plimsoll --card a.svg --html a.svg", &["`--html` and `--card` name one file, `a.svg`"]),
    (
        "report a.plimsoll --html out.html --json out.html",
        &["`--html` and `--json` name one file, `out.html`"],
    ),
    (
        "new http://127.0.0.1:1/ -o a.plimsoll --force",
        &["is a run file, and the plan would replace it", "`-o plan.toml`"],
    ),
    ("new http://127.0.0.1:1/ -o visit.js --force", &["is a k6 script"]),
];

#[test]
fn no_report_replaces_evidence_a_plan_or_another_input() {
    let folder = folder();
    let content = || FILES.map(|name| std::fs::read(folder.path(name)).unwrap());
    let before = content();
    for (line, parts) in REFUSED {
        let words: Vec<&str> = line.split(' ').collect();
        folder.plimsoll(&words).exits_with(2).stderr_contains(parts);
        assert!(content() == before, "{line} changed a file");
        let made = ["e.plimsoll", "x.plimsoll", "out.html", "a.svg"];
        assert!(made.iter().all(|name| !folder.path(name).exists()), "{line} wrote a file");
    }
}

#[test]
fn reports_and_what_is_forced_are_replaced() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = folder();
    // A report that shows a plan or a command is a report.
    let shows_a_plan = "<pre>\n[[scenarios]]\nimport http from 'k6/http'\n</pre>\n";
    for (option, name) in [("--html", "r.html"), ("--md", "r.md"), ("--json", "r.json"), ("--junit", "r.xml")]
    {
        folder.write(name, shows_a_plan);
        for _ in 0..2 {
            folder.plimsoll(&["report", "a.plimsoll", option, name]).exits_with(0);
            assert_ne!(folder.read(name), shows_a_plan);
        }
    }
    folder.plimsoll(&["report", "a.plimsoll", "--html", "/dev/null", "--md", "/dev/null"]).exits_with(0);
    let url = format!("http://{}/", target.addr());
    folder.plimsoll(&[&url, "-n", "3", "-q", "-o", "a.plimsoll", "--force"]).exits_with(0);
    folder.plimsoll(&["new", &url, "--force"]).exits_with(0);
    assert!(folder.read("plan.toml").contains(&url[..url.len() - 1]));
}
