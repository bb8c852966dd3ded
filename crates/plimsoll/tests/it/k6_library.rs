//! Modules of jslib.k6.io that are built in, in iterations of a run. What is expected is what k6 1.8.1 does with the originals.

use crate::command::TestFolder;

/// The lines that one iteration of this script logs.
fn lines(script: &str) -> Vec<String> {
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    let ran = folder.plimsoll(&["run", "script.js", "-q", "--evidence", "run.plimsoll", "--k6-exit-codes"]);
    ran.exits_with(0);
    let line = |line: &str| line.strip_prefix("INFO ")?.strip_suffix("  source=console").map(str::to_owned);
    ran.stderr.lines().filter_map(line).collect()
}

#[test]
fn check_of_utils_waits_only_for_what_is_a_promise() {
    let script = "import { check } from 'https://jslib.k6.io/k6-utils/1.6.0/index.js';
        export default async function () {
            console.log(check(1, { two: (v) => v === 2 }), check(2, { 'is two': (v) => v === 2, yes: true }));
            const later = check(Promise.resolve(3), { three: async (v) => v === 3 });
            console.log(typeof later.then, await later, await check(4, { five: async (v) => v === 5, four: true }));
            try { check(1, { throws: () => { throw new Error('thrown'); } }); } catch (error) { console.log(error.message); }
        }
        export function handleSummary({ root_group: { checks } }) {
            console.log(checks.map(({ name, passes, fails }) => `${name} ${passes} ${fails}`).join());
            return {};
        }";
    assert_eq!(
        lines(script),
        [
            "false true",
            "function true false",
            "thrown",
            "two 0 1,is two 1 0,yes 1 0,three 1 0,four 1 0,five 0 1,throws 0 1",
        ]
    );
}
