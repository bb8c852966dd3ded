//! Where a program's own code waits while it answers a request: block and mutex profiles of Go, by line.

use std::collections::BTreeMap;

use crate::model::{Profile, Sample, SourceLine};

/// The first elements of the paths of Go's own packages.
const LIBRARY: [&str; 44] = [
    "archive",
    "bufio",
    "bytes",
    "cmp",
    "compress",
    "container",
    "context",
    "crypto",
    "database",
    "debug",
    "embed",
    "encoding",
    "errors",
    "expvar",
    "flag",
    "fmt",
    "go",
    "hash",
    "html",
    "index",
    "internal",
    "io",
    "iter",
    "log",
    "maps",
    "math",
    "mime",
    "net",
    "os",
    "path",
    "reflect",
    "regexp",
    "runtime",
    "slices",
    "sort",
    "strconv",
    "strings",
    "sync",
    "syscall",
    "testing",
    "text",
    "time",
    "unicode",
    "vendor",
];
/// Where modules of others are kept.
const MODULES: &str = "/pkg/mod/";
/// Functions below which a request is answered.
const REQUESTS: [&str; 3] = ["ServeHTTP", "handleStream", "processUnaryRPC"];
/// The handlers of the profiles themselves.
const PROFILER: &str = "net/http/pprof.";

/// What was waited at a line of a program's own code.
#[derive(Debug, Clone, PartialEq)]
pub struct LineWait {
    /// The last element of the file's path with the line, or the function where the line is not known.
    pub place: String,
    pub seconds: f64,
}

/// The waits of requests by the innermost line that is neither of Go's library nor of a module of others, the longest first. Empty of a
/// profile without delays.
pub fn request_waits(profile: &Profile) -> Vec<LineWait> {
    let delay = profile.sample_types.iter().position(|of| of.name == "delay" && of.unit == "nanoseconds");
    let Some(delay) = delay else { return Vec::new() };
    let mut by_place: BTreeMap<String, f64> = BTreeMap::new();
    for sample in profile.samples() {
        if let (Some(place), Some(nanos)) = (own_line(profile, &sample), sample.values.get(delay)) {
            *by_place.entry(place).or_default() += *nanos as f64 / 1e9;
        }
    }
    let mut waits: Vec<LineWait> =
        by_place.into_iter().map(|(place, seconds)| LineWait { place, seconds }).collect();
    waits.retain(|wait| wait.seconds > 0.0);
    waits.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    waits
}

/// The innermost line of the program's own code, of a stack that answers a request.
fn own_line(profile: &Profile, sample: &Sample<'_>) -> Option<String> {
    let lines = || sample.stack.iter().flat_map(|location| profile.lines(*location));
    let name = |line: &SourceLine| {
        let function = profile.functions.get(line.function as usize);
        function.map_or("", |function| profile.text(function.name))
    };
    let is_request = lines().any(|line| REQUESTS.iter().any(|request| name(line).contains(request)));
    let is_profiler = lines().any(|line| name(line).starts_with(PROFILER));
    let own =
        lines().filter(|_| is_request && !is_profiler).find(|line| is_own(profile, line, name(line)))?;
    let function = profile.functions.get(own.function as usize)?;
    let file = profile.text(function.file).rsplit('/').next().unwrap_or_default();
    match own.line {
        0 => Some(name(own).to_owned()),
        line => Some(format!("{file}:{line}")),
    }
}

fn is_own(profile: &Profile, line: &SourceLine, name: &str) -> bool {
    let file = profile.functions.get(line.function as usize).map_or("", |of| profile.text(of.file));
    let package = name.split(['/', '.']).next().unwrap_or_default();
    !name.is_empty() && !LIBRARY.contains(&package) && !file.contains(MODULES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Frame, ValueType};

    fn waits(stacks: &[(&[&str], i64)]) -> Vec<(String, f64)> {
        let of = |name: &str, unit: &str| ValueType { name: name.to_owned(), unit: unit.to_owned() };
        let mut builder = Builder::new(vec![of("contentions", "count"), of("delay", "nanoseconds")]);
        for (stack, nanos) in stacks {
            let frames: Vec<Frame<'_>> =
                stack.iter().map(|function| Frame { function, ..Frame::default() }).collect();
            builder.sample(&frames, &[1, *nanos]).unwrap();
        }
        request_waits(&builder.finish()).into_iter().map(|wait| (wait.place, wait.seconds)).collect()
    }

    #[test]
    fn a_wait_is_of_the_innermost_line_of_the_programs_own_code() {
        let serve = ["net/http.(*conn).serve", "net/http.HandlerFunc.ServeHTTP"];
        let stack = |rest: &[&'static str]| [&serve[..], rest].concat();
        let of_pool = stack(&[
            "main.list",
            "example.org/shop/db.(*Pool).Get",
            "database/sql.(*DB).conn",
            "runtime.selectgo",
        ]);
        let of_lock = stack(&["main.list", "sync.(*Mutex).Lock"]);
        let of_profiler = stack(&["net/http/pprof.handler.ServeHTTP", "main.wrapped", "runtime.chanrecv1"]);
        let idle = ["net/http.(*conn).serve", "sync.(*Cond).Wait"];
        let background = ["main.sweep", "runtime.selectgo"];
        let found = waits(&[
            (&of_lock, 1_000_000_000),
            (&of_pool, 2_500_000_000),
            (&of_lock, 500_000_000),
            (&of_profiler, 9_000_000_000),
            (&idle, 9_000_000_000),
            (&background, 9_000_000_000),
        ]);
        let expect = [("example.org/shop/db.(*Pool).Get".to_owned(), 2.5), ("main.list".to_owned(), 1.5)];
        assert_eq!(found, expect);
    }

    #[test]
    fn a_profile_without_delays_has_none() {
        let profile =
            Builder::new(vec![ValueType { name: "cpu".to_owned(), unit: "nanoseconds".to_owned() }]);
        assert_eq!(request_waits(&profile.finish()), []);
    }
}
