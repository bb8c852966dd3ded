//! The table: which command line ends with which exit code. In each line `plimsoll` is the command whose exit code counts,
//! `made` one whose exit code does not, `started` one in the background; `$OK` answers, `$FAILING` answers 500, nothing
//! listens at `$GONE`.

/// The rows of a verb, which run one after the other in one folder.
pub(super) struct VerbRows {
    pub(super) name: &'static str,
    /// An exit code, and a shell's command line that ends with it.
    pub(super) rows: &'static [(i32, &'static str)],
    /// The exit codes that the verb never ends with, and why.
    pub(super) never: (&'static [i32], &'static str),
}

const JUDGES_NOTHING: (&[i32], &str) = (&[3, 4, 5], "it judges nothing");

/// Verbs that read and write files, and start at once.
pub(super) const READS: &[VerbRows] = &[
    VerbRows {
        name: "new",
        rows: &[
            (0, "plimsoll new http://$OK/ -o -"),
            (1, "plimsoll new http://$OK/ -o - > /dev/full"),
            (2, "plimsoll new missing.yaml"),
        ],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "check",
        rows: &[
            (0, "plimsoll check plan.toml"),
            (1, "plimsoll check plan.toml > /dev/full"),
            (2, "plimsoll check missing.toml"),
        ],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "manifest",
        rows: &[
            (0, "plimsoll manifest away.toml --kubernetes 3 --image registry/plimsoll:1"),
            (1, "plimsoll manifest away.toml --kubernetes 3 --image registry/plimsoll:1 > /dev/full"),
            (2, "plimsoll manifest away.toml --kubernetes 3"),
        ],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "report",
        rows: &[
            (0, "made import k6.ndjson -o imported.plimsoll; plimsoll report imported.plimsoll"),
            (1, "plimsoll report imported.plimsoll > /dev/full"),
            (2, "plimsoll report missing.plimsoll"),
            (3, "made run failing.toml -q -o failing.plimsoll; plimsoll report failing.plimsoll"),
            (4, "made run few.toml -q -o few.plimsoll; plimsoll report few.plimsoll"),
            (5, "plimsoll report changed.plimsoll"),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "compare",
        rows: &[
            (0, "made run few.toml -q -o few.plimsoll; plimsoll compare old.plimsoll few.plimsoll"),
            (
                1,
                "made run few.toml -q -o few.plimsoll; plimsoll compare old.plimsoll few.plimsoll > /dev/full",
            ),
            (2, "plimsoll compare old.plimsoll old.plimsoll"),
            (2, "plimsoll compare old.plimsoll missing.plimsoll"),
            (5, "plimsoll compare changed.plimsoll old.plimsoll"),
        ],
        never: (&[3, 4], "it describes, and decides nothing"),
    },
    VerbRows {
        name: "export",
        rows: &[
            (0, "plimsoll export old.plimsoll --csv tables"),
            (1, "plimsoll export old.plimsoll --openmetrics none/run.om"),
            (2, "plimsoll export missing.plimsoll --csv tables"),
            (5, "plimsoll export changed.plimsoll --csv tables"),
        ],
        never: (&[3, 4], "it decides nothing"),
    },
    VerbRows {
        name: "profile",
        rows: &[
            (0, "plimsoll profile cpu.pb.gz"),
            (1, "plimsoll profile cpu.pb.gz > /dev/full"),
            (2, "plimsoll profile plan.toml"),
        ],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "import",
        rows: &[
            (0, "plimsoll import k6.ndjson -o 0.plimsoll"),
            (1, "plimsoll import k6.ndjson -o 1.plimsoll --html /dev/full"),
            (2, "plimsoll import missing.ndjson"),
            (3, "plimsoll import k6.ndjson -o 3.plimsoll --ask 'error_rate(scenario = browse) <= 0%'"),
            (4, "plimsoll import vegeta-report.json -o 4.plimsoll --ask 'p95(all) < 1s'"),
            (5, "plimsoll import k6.ndjson -o 5.plimsoll --intent intent.toml"),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "leaks",
        rows: &[
            (0, "plimsoll leaks steady.plimsoll"),
            (1, "plimsoll leaks steady.plimsoll > /dev/full"),
            (2, "plimsoll leaks old.plimsoll"),
            (3, "plimsoll leaks leaking.plimsoll"),
            (4, "made monitor $$ --for 1s -o short.plimsoll; plimsoll leaks short.plimsoll"),
            (5, "plimsoll leaks changed.plimsoll"),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "explain",
        rows: &[(0, "plimsoll explain L1"), (1, "plimsoll explain > /dev/full"), (2, "plimsoll explain Z9")],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "fetch-imports",
        rows: &[
            (
                0,
                "mkdir c; : > c/$(printf %s http://x/m.js | sha256sum | cut -c1-64).js; echo \"import 'http://x/m.js'\" > i.js; \
                 plimsoll fetch-imports i.js --import-cache c",
            ),
            (1, "exec 3< i.js; plimsoll fetch-imports /dev/fd/3 --import-cache c"),
            (2, "plimsoll fetch-imports missing.js"),
        ],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "completions",
        rows: &[
            (0, "plimsoll completions bash"),
            (1, "plimsoll completions bash > /dev/full"),
            (2, "plimsoll completions csh"),
        ],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "man",
        rows: &[(0, "plimsoll man run"), (1, "plimsoll man > /dev/full"), (2, "plimsoll man running")],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "selftest verdicts",
        rows: &[
            (0, "plimsoll selftest verdicts --runs 1 --only steady"),
            (1, "plimsoll selftest verdicts --runs 1 --only steady > /dev/full"),
            (2, "plimsoll selftest verdicts --only neighbors"),
        ],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "selftest experiments",
        rows: &[
            (0, "plimsoll selftest experiments --experiments 1 --searches 1"),
            (1, "plimsoll selftest experiments --experiments 1 --searches 1 --json /dev/full"),
            (2, "plimsoll selftest experiments --experiments 0"),
        ],
        never: JUDGES_NOTHING,
    },
];

/// Verbs that send requests, or watch for a while.
pub(super) const LOADS: &[VerbRows] = &[
    VerbRows {
        name: "run",
        rows: &[
            (0, "plimsoll run plan.toml -q"),
            (1, "plimsoll run plan.toml -q --html /dev/full"),
            (2, "plimsoll run missing.toml"),
            (3, "plimsoll run failing.toml -q"),
            (4, "plimsoll run few.toml -q"),
            (5, "plimsoll run flood.toml -q"),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "http",
        rows: &[
            (0, "plimsoll http $OK/ -n 5 -q"),
            (1, "plimsoll http $OK/ -n 5 -q > /dev/full"),
            (2, "plimsoll http $GONE/"),
            (3, "plimsoll http $FAILING/ -n 5 -q --no-precheck"),
            (4, "plimsoll http $OK/ -n 5 -q --ask 'p99(all) < 10s'"),
            // More than one loop can offer.
            (5, "plimsoll http $OK/ -r 2000000 -z 100ms -q --ask 'p99(all) < 10s'"),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "grpc",
        rows: &[
            (0, "plimsoll grpc $ECHO demo.Echo/Say --proto echo.proto -n 5 -q"),
            (1, "plimsoll grpc $ECHO demo.Echo/Say --proto echo.proto -n 5 -q > /dev/full"),
            (2, "plimsoll grpc $GONE demo.Echo/Say --proto echo.proto"),
            (3, "plimsoll grpc $EXHAUSTED demo.Echo/Say --proto echo.proto -n 5 -q"),
            (4, "plimsoll grpc $ECHO demo.Echo/Say --proto echo.proto -n 5 -q --ask 'p99(all) < 10s'"),
            (
                5,
                "plimsoll grpc $ECHO demo.Echo/Say --proto echo.proto -r 2000000 -z 100ms -q --ask 'p99(all) < 10s'",
            ),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "worker",
        rows: &[
            (0, "plimsoll worker --make-keys run.pem"),
            (1, "plimsoll worker --listen 127.0.0.1:0 --keys run.pem > /dev/full"),
            (2, "plimsoll worker --listen 127.0.0.1:0 --keys missing.pem"),
        ],
        never: (&[3, 4, 5], "its coordinator judges"),
    },
    VerbRows {
        name: "fetch",
        rows: &[
            (0, "cp old.plimsoll whole.plimsoll; PATH=$PWD/bin:$PATH; plimsoll fetch x -o 0.plimsoll"),
            (1, "PATH=$PWD/bin:$PATH; plimsoll fetch x -o 1.plimsoll > /dev/full"),
            (2, "PATH=/nowhere; plimsoll fetch x"),
            (
                3,
                "made run failing.toml -q -o whole.plimsoll --force; PATH=$PWD/bin:$PATH; plimsoll fetch x -o 3.plimsoll",
            ),
            (
                4,
                "made run few.toml -q -o whole.plimsoll --force; PATH=$PWD/bin:$PATH; plimsoll fetch x -o 4.plimsoll",
            ),
            (5, "cp changed.plimsoll whole.plimsoll; PATH=$PWD/bin:$PATH; plimsoll fetch x -o 5.plimsoll"),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "quick",
        rows: &[
            (0, "plimsoll quick http://$OK/"),
            (1, "plimsoll quick http://$OK/ > /dev/full"),
            (2, "plimsoll quick http://$GONE/"),
            (3, "plimsoll quick http://$FAILING/"),
        ],
        never: (&[4, 5], "a check passes, fails or is unknown"),
    },
    VerbRows {
        name: "monitor",
        rows: &[
            (0, "plimsoll monitor $$ --for 1s -o 0.plimsoll"),
            (1, "plimsoll monitor $$ --for 1s -o 1.plimsoll > /dev/full"),
            (2, "plimsoll monitor"),
        ],
        never: JUDGES_NOTHING,
    },
    VerbRows {
        name: "selftest engine",
        rows: &[
            (0, "plimsoll selftest engine --seconds 1"),
            (1, "plimsoll selftest engine --seconds 1 > /dev/full"),
            (2, "plimsoll selftest engine --seconds 0"),
        ],
        never: JUDGES_NOTHING,
    },
];

/// Verbs that make several runs. Later rows judge what the first one made.
pub(super) const EXPERIMENTS: &[VerbRows] = &[
    VerbRows {
        name: "ab",
        rows: &[
            (3, "plimsoll ab worse.toml --quiet -o out.ab"),
            (0, "plimsoll ab same.toml --quiet"),
            (1, "plimsoll ab --judge out.ab > /dev/full"),
            (2, "plimsoll ab missing.toml"),
            (
                4,
                "started ab same.toml --quiet -o 4.ab & until [ -e 4.ab/pair-01-a.plimsoll ]; do sleep 0.05; done; kill $!; wait $!",
            ),
            (5, "plimsoll ab broken.toml --quiet"),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "capacity",
        rows: &[
            (4, "plimsoll capacity search.toml --quiet -o out.capacity"),
            (0, "plimsoll capacity --judge out.capacity --at-least 55/s"),
            (1, "plimsoll capacity --judge out.capacity > /dev/full"),
            (2, "plimsoll capacity search.toml --budget 1s"),
            (3, "plimsoll capacity worse-search.toml --quiet"),
            (5, "plimsoll capacity broken-search.toml --quiet"),
        ],
        never: (&[], ""),
    },
    VerbRows {
        name: "diagnose",
        rows: &[
            (4, "plimsoll diagnose search.toml --step 1s --quiet -o out.capacity"),
            (0, "plimsoll diagnose out.capacity --inconclusive=warn"),
            (1, "plimsoll diagnose out.capacity > /dev/full"),
            (2, "plimsoll diagnose out.capacity --step 1s"),
            (5, "plimsoll diagnose broken-search.toml --step 1s --quiet --objective 'goodput(get) >= 100/s'"),
        ],
        never: (&[3], "a limit is no violation"),
    },
    VerbRows {
        name: "calibrate",
        rows: &[
            (0, "plimsoll calibrate same.toml --quiet --pairs 5 --slot 300ms --calibration noise.json"),
            (
                1,
                "plimsoll calibrate same.toml --quiet --pairs 5 --slot 300ms --calibration noise.json > /dev/full",
            ),
            (2, "plimsoll calibrate missing.toml"),
            (
                4,
                "started calibrate same.toml --quiet -o 4.ab & until [ -e 4.ab/pair-01-a.plimsoll ]; do sleep 0.05; done; kill $!; wait $!",
            ),
        ],
        never: (&[3, 5], "it decides nothing"),
    },
];

/// `plimsoll run` of scripts, whose exit codes are k6's.
pub(super) const SCRIPTS: &[VerbRows] = &[VerbRows {
    name: "run SCRIPT",
    rows: &[
        (0, "plimsoll run ok.js -q"),
        (1, "plimsoll run ok.js -q --html /dev/full"),
        (3, "plimsoll run dead.js -q"),
        (5, "plimsoll run flood.js -q"),
        (99, "plimsoll run crossed.js -q"),
        (104, "plimsoll run ok.js -q --policy missing.toml"),
        (
            105,
            "started run long.js -q --evidence long.plimsoll & until [ -s long.plimsoll ]; do sleep 0.05; done; kill -INT $!; wait $!",
        ),
        (107, "plimsoll run throws.js -q"),
        (108, "plimsoll run aborts.js -q"),
        (110, "plimsoll run fails.js -q"),
        (255, "plimsoll run empty.js -q"),
    ],
    never: (&[], ""),
}];
