//! What users of other load generators type, and what is written here.

/// Options of other tools for an ad-hoc run, and those here.
pub(super) const AD_HOC: [(&str, &str); 24] = [
    ("--vus", "-c NUMBER"),
    ("--users", "-c NUMBER"),
    ("--concurrent", "-c NUMBER"),
    ("--workers", "--loops NUMBER; processes are for plans: `plimsoll run PLAN --workers NUMBER`"),
    ("--threads", "--loops NUMBER"),
    ("--rps", "-r RATE"),
    ("--qps", "-r RATE"),
    ("--query-per-second", "-r RATE"),
    ("-R", "-r RATE"),
    ("--request", "-m METHOD"),
    ("--data-raw", "-d TEXT"),
    ("--data-binary", "-D FILE"),
    ("--user", "-u USER:PASSWORD"),
    ("--iterations", "-n NUMBER"),
    ("--total", "-n NUMBER"),
    ("--run-time", "-z DURATION"),
    ("--max-duration", "-z DURATION"),
    ("--max-time", "-t DURATION"),
    ("--connect-timeout", "-t DURATION"),
    ("--spawn-rate", "--ramp DURATION"),
    ("--output-format", "--json FILE"),
    ("--threshold", "--objective 'p95 < 50ms'"),
    ("--thresholds", "--objective 'p95 < 50ms'"),
    ("--stages", "--ramp DURATION` or a plan with stages, which `plimsoll new URL` begins,"),
];

/// The same where calls of gRPC have an option of this name.
pub(super) const HTTP_ALONE: [(&str, &str); 9] = [
    ("--concurrency", "-c NUMBER"),
    ("--data", "-d TEXT"),
    ("--head", "-m HEAD"),
    ("-I", "-m HEAD"),
    ("--max-redirs", "--redirects NUMBER"),
    ("--data-urlencode", "-d TEXT -T application/x-www-form-urlencoded"),
    ("--form", "-D FILE -T 'multipart/form-data; boundary=…'"),
    ("-F", "-D FILE -T 'multipart/form-data; boundary=…'"),
    ("--compressed", "-H 'accept-encoding: gzip'"),
];

/// The same of `ghz`, for calls of gRPC.
pub(super) const GRPC_ALONE: [(&str, &str); 5] = [
    ("--call", "plimsoll grpc HOST:PORT SERVICE/METHOD"),
    ("--metadata", "-H 'name: value'"),
    ("--data-file", "-d @FILE"),
    ("--rps", "-r RATE"),
    ("--import-paths", "--proto FILE, whose imports are searched in the folders above it,"),
];

/// Options that have nothing to ask for here, and why.
pub(super) const NOT_NEEDED: [(&[&str], &str); 10] = [
    (
        &["--latency", "--latency-correction"],
        "every report has the distribution of latency, and with `-r` each time counts from when its request was due",
    ),
    (
        &["--no-tui", "--headless", "--no-color", "--disable-color"],
        "`-q` shows no progress, NO_COLOR=1 in the environment no colour",
    ),
    (&["--silent", "-S", "--show-error"], "`-q` shows no progress"),
    (
        &["-s", "--script"],
        "`-q` shows no progress; scripts of wrk are not run, and `--targets FILE` sends a list of requests",
    ),
    (
        &["-i", "--include", "-w", "--write-out", "-f", "--fail"],
        "`--once` sends one request and shows the whole exchange; a status from 400 on is a failure",
    ),
    (&["-l"], "responses may differ in length"),
    (&["--host", "--url"], "the URL stands alone: `plimsoll URL -c NUMBER -z DURATION`"),
    (&["-j"], "`--json -` prints the report as JSON"),
    (&["-G", "--get"], "the query is in the URL: `plimsoll 'http://HOST/PATH?a=1'`"),
    (&["-g"], "`plimsoll export RUN --csv FOLDER` writes tables of a run file"),
];

/// Long options that vegeta and hey have with one hyphen, and those here.
pub(super) const ONE_HYPHEN: [(&str, &str); 16] = [
    ("duration", "-z DURATION"),
    ("rate", "-r RATE"),
    ("body", "-D FILE"),
    ("header", "-H HEADER"),
    ("method", "-m METHOD"),
    ("timeout", "-t DURATION"),
    ("connections", "-c NUMBER"),
    ("max-workers", "-c NUMBER"),
    ("targets", "--targets FILE"),
    ("insecure", "--insecure"),
    ("plaintext", "HOST:PORT"),
    ("http2", "--http2"),
    ("h2", "--http2"),
    ("output", "-o FILE"),
    ("disable-keepalive", "--disable-keepalive"),
    ("cpus", "--loops NUMBER"),
];

/// Options that a plan sets, and how.
pub(super) const IN_PLANS: [(&[&str], &str); 16] = [
    (
        &[
            "-r",
            "--rate",
            "--rps",
            "-c",
            "--connections",
            "--vus",
            "-u",
            "--users",
            "--requests",
            "-i",
            "--iterations",
            "--spawn-rate",
            "--stage",
        ],
        "the plan sets the load; `--load FACTOR` multiplies it",
    ),
    (
        &["-z", "--duration", "-d", "--run-time"],
        "the plan sets durations; `--time-scale FACTOR` multiplies them",
    ),
    (&["-k", "--insecure"], "write `tls = { insecure = true }` in the target of the plan"),
    (&["-H", "--header"], "write `headers = { … }` in the target, the scenario or the step of the plan"),
    (&["-t", "--timeout"], "write `timeout = \"5s\"` in the steps of the plan"),
    (
        &["-e", "--env"],
        "`NAME=VALUE plimsoll run PLAN` sets a variable, which the plan reads as `${env.NAME}`",
    ),
    (&["--host", "--url", "--base-url"], "`--target NAME=URL` gives a target of the plan another address"),
    (
        &["--objective", "--ask", "--thresholds"],
        "objectives are in the plan's `[objectives]`; `plimsoll report RUN --objective …` judges a run file by others",
    ),
    (&["-f", "--file", "--plan", "--config"], "the plan is named without an option: `plimsoll run PLAN`"),
    (
        &["--headless", "--no-color", "--no-tui"],
        "`-q` shows no progress, NO_COLOR=1 in the environment no colour",
    ),
    (&["--csv"], "`plimsoll export RUN --csv FOLDER` writes tables of a run file"),
    (
        &["--dry-run", "--dry"],
        "`plimsoll check PLAN` shows what would be offered and sends nothing; `--once` sends each step once",
    ),
    (
        &["--tag", "--tags", "--label"],
        "`tags = { team = \"a\" }` in a scenario of the plan tags its requests; the name of the run file tells runs apart",
    ),
    (&["--summary-export", "--summary"], "`--json FILE` writes the report as JSON"),
    (
        &["--no-thresholds"],
        "a plan without `[objectives]` is measured and not judged; `--once` sends each step once and judges nothing",
    ),
    (&["-J"], JMETER),
];

pub(super) const JMETER: &str = "JMeter's plans are not run: `plimsoll new URL` begins a plan, and `plimsoll import FILE.jtl` reads results of JMeter";

/// Options of runs of plans, for scripts of k6, and how it is done there.
pub(super) const IN_SCRIPTS: [(&[&str], &str); 5] = [
    (&["--output"], "`--evidence FILE` names the run file"),
    (&["--target"], "the script has the address; `-e NAME=VALUE` sets a variable for it"),
    (&["--load", "--time-scale"], "`-u NUMBER -d DURATION` set the load of a script"),
    (
        &["--objective", "--ask"],
        "thresholds are in the script's options, objectives in a file for `--policy`",
    ),
    (&["--connections", "-r", "--rate", "-z"], "`-u NUMBER -d DURATION` set the load of a script"),
];

/// Options that a verb has not, and what has them: verbs, options, what to write.
pub(super) const OF_OTHER_VERBS: [(&[&str], &[&str], &str); 28] = [
    (
        &["report", "compare", "import"],
        &["--output-format", "--out"],
        "each form of a report has an option: `--html FILE`, `--md FILE`, `--json FILE`, `--junit FILE`",
    ),
    (
        &["report", "compare"],
        &["--format", "--output", "-o"],
        "each form of a report has an option: `--html FILE`, `--md FILE`, `--json FILE`, `--junit FILE`",
    ),
    (
        &["check"],
        &["-r", "--rate", "-c", "--vus", "-n", "-z", "--duration"],
        "the plan sets the load; `--load FACTOR` multiplies it, `--time-scale FACTOR` its durations",
    ),
    (
        &["report", "compare"],
        &["--chart", "--png", "--svg"],
        "charts are exported: `plimsoll export RUN --chart NAME FILE.svg`, or FILE.png; `plimsoll export RUN --chart` lists the names",
    ),
    (
        &["report", "compare"],
        &["--csv", "--openmetrics", "--hdr", "--profiles"],
        "data is exported: `plimsoll export RUN`, with this option",
    ),
    (&["report"], &["--open"], "`--html FILE` writes a page, which a browser opens"),
    (
        &["report", "export", "compare"],
        &["--last", "--latest"],
        "name the run file; `ls -t *.plimsoll` lists the newest first",
    ),
    (
        &["report"],
        &["--phase", "--scenario", "--endpoint"],
        "every report has all phases; an objective is about one by `--objective 'p95(all, phase = NAME) < 50ms'`",
    ),
    (
        &["compare"],
        &["--threshold", "--margin", "--max-regression", "--fail-on"],
        "it decides nothing: `plimsoll ab` decides whether B is worse by more than a margin",
    ),
    (&["compare", "export"], &["--objective"], "`plimsoll report RUN --objective …` judges a run file"),
    (
        &["export"],
        &["--json", "--html", "--md", "--junit"],
        "reports are written by `plimsoll report RUN`, with this option",
    ),
    (&["export"], &["--prometheus", "--prom"], "Prometheus reads `--openmetrics FILE`"),
    (&["report"], &["-f", "--summary-export"], "`--json FILE` writes the report as JSON"),
    (&["ab"], &["-r", "--rps"], "`--rate RATE` is the load of two URLs; a plan sets its own"),
    (&["ab"], &["--runs", "--repeats", "-n"], "`--looks 6,10` sets after how many pairs it is judged"),
    (
        &["ab"],
        &["-z", "--duration", "--time"],
        "`--slot DURATION` is the length of a run, `--budget DURATION` that of all",
    ),
    (
        &["capacity"],
        &["--rate", "-r", "--rps", "--vus", "-c"],
        "it searches among loads: `--from 100 --to 1000`; a load that must hold is `--at-least LEVEL`",
    ),
    (&["capacity"], &["--max", "--max-rate", "--limit"], "the highest load that is tried is `--to LEVEL`"),
    (&["capacity"], &["--min", "--start-rate"], "the lowest load that is tried is `--from LEVEL`"),
    (
        &["worker"],
        &["--port", "-p", "--address", "--bind", "--host"],
        "the address is `--listen 127.0.0.1:7400`; one that other machines reach needs `--keys FILE`",
    ),
    (
        &["worker"],
        &["--master", "--coordinator", "--master-host", "--join"],
        "a worker waits: `plimsoll worker --listen ADDRESS:PORT` here, `plimsoll run PLAN --worker ADDRESS:PORT` at the coordinator",
    ),
    (
        &["profile"],
        &["-http", "-web", "-svg", "-pdf"],
        "`--flame FILE.html` draws it, and a browser opens that",
    ),
    (&["profile"], &["-top", "-text"], "the table is its default, with `--top NUMBER` functions"),
    (&["profile"], &["-diff_base", "-base"], "the profile to compare with is `--base FILE`"),
    (&["leaks"], &["--duration", "-d", "-z", "--time"], "`--for 30m` watches the targets so long"),
    (
        &["leaks"],
        &["--pid", "-p"],
        "a target is its port, its process id or its container: `plimsoll leaks --for 30m :8000`",
    ),
    (&["leaks"], &["--threshold", "--limit"], "`--margin SHARE` is the growth an hour that must be excluded"),
    (
        &["quick"],
        &["-n", "-r", "-z", "-c", "--for", "--duration", "--rate"],
        "its two short loads are always the same; `plimsoll URL -n NUMBER` sends one of your own",
    ),
];

/// Verbs of other tools, and what is written here.
pub(super) const VERBS: [(&[&str], &str); 13] = [
    (&["test", "start", "exec", "execute", "go"], "plimsoll run PLAN"),
    (
        &["validate", "lint", "inspect", "verify", "dry-run"],
        "plimsoll check PLAN`, of a k6 script `plimsoll check SCRIPT.js",
    ),
    (
        &["attack"],
        "plimsoll URL -r RATE -z DURATION`, of a list of targets `plimsoll http --targets FILE -r RATE",
    ),
    (&["bench", "benchmark", "load", "hit"], "plimsoll http URL"),
    (&["diff"], "plimsoll compare BEFORE AFTER"),
    (&["init", "create", "record", "generate", "convert", "scaffold"], "plimsoll new SOURCE"),
    (&["show", "view", "open", "summary", "results", "analyze", "plot"], "plimsoll report RUN"),
    (&["stress", "breakpoint", "max", "limit"], "plimsoll capacity FILE"),
    (&["soak"], "plimsoll leaks RUN"),
    (&["watch", "top"], "plimsoll monitor TARGET"),
    (&["version"], "plimsoll --version"),
    (&["agent", "serve"], "plimsoll worker"),
    (&["cloud"], "plimsoll run SCRIPT.js`, on more machines with `--worker HOST:PORT` or `--kubernetes PODS"),
];

/// Other tools, named as if Plimsoll started them, and what is written here.
pub(super) const TOOLS: [(&[&str], &str); 8] = [
    (
        &["wrk", "wrk2", "hey", "oha", "bombardier", "siege", "autocannon", "drill"],
        "plimsoll URL -c NUMBER -z DURATION",
    ),
    (&["curl"], "plimsoll new curl …` for a plan of the whole command, or `plimsoll URL -X POST -d TEXT"),
    (&["k6"], "plimsoll run SCRIPT.js"),
    (&["vegeta"], "plimsoll http --targets FILE -r RATE -z DURATION"),
    (&["ghz", "grpcurl"], "plimsoll grpc HOST:PORT SERVICE/METHOD"),
    (&["locust", "jmeter", "gatling", "artillery"], "plimsoll new URL` and `plimsoll run PLAN"),
    (&["docker", "kubectl"], "plimsoll run PLAN --kubernetes PODS"),
    (&["benchstat"], "plimsoll compare BEFORE AFTER"),
];
