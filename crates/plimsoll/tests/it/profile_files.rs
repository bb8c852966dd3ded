//! `plimsoll profile`, on files that the test writes.

use profile::{Builder, Frame, Profile, ValueType, write};

use crate::command::TestFolder;

const MS: i64 = 1_000_000;

/// A profile of the processor at 100 Hz: each stack, outermost first, with its number of samples.
fn cpu(stacks: &[(&str, i64)]) -> Profile {
    let named = |name: &str, unit: &str| ValueType { name: name.to_owned(), unit: unit.to_owned() };
    let mut builder = Builder::new(vec![named("samples", "count"), named("cpu", "nanoseconds")]);
    for (stack, samples) in stacks {
        let frames: Vec<Frame<'_>> =
            stack.split(';').map(|function| Frame { function, binary: "" }).collect();
        builder.sample(&frames, &[*samples, samples * 10 * MS]).unwrap();
    }
    let mut profile = builder.finish();
    profile.period_type = named("cpu", "nanoseconds");
    profile.period = 10 * MS;
    profile.duration_ns = 10_000 * MS;
    profile
}

fn folder(files: &[(&str, &[(&str, i64)])]) -> TestFolder {
    let folder = TestFolder::new("");
    for (name, stacks) in files {
        folder.write(name, write(&cpu(stacks)).unwrap());
    }
    folder
}

const OLD: &[(&str, i64)] = &[("main;serve;parse", 300), ("main;serve;store", 600), ("main;idle", 2)];
const NEW: &[(&str, i64)] = &[("main;serve;parse", 600), ("main;serve;store", 600), ("main;idle", 2)];

#[test]
fn functions_are_listed_and_filtered() {
    let folder = folder(&[("cpu.pb.gz", OLD)]);
    let listed = folder.plimsoll(&["profile", "cpu.pb.gz"]);
    listed.exits_with(0).stdout_contains(&[
        "cpu in nanoseconds: 9.02 s in all, from 902 samples, over 10.0 s",
        "66.5 %",
        "store",
    ]);
    let by_cum =
        folder.plimsoll(&["profile", "cpu.pb.gz", "--sort", "cum", "--top", "1", "--type", "samples"]);
    by_cum.exits_with(0).stdout_contains(&[
        "samples in count: 902 in all",
        "1 of 5 functions",
        "902  100 %",
        "main",
    ]);
    assert!(!by_cum.stdout.contains("store"), "{}", by_cum.stdout);
    let focused = folder.plimsoll(&["profile", "cpu.pb.gz", "--focus", "^par", "--tree"]);
    focused.exits_with(0).stdout_contains(&["| | | parse"]);
    assert!(!focused.stdout.contains("store"), "{}", focused.stdout);
}

#[test]
fn two_profiles_are_compared_per_request() {
    let folder = folder(&[("old.pb.gz", OLD), ("new.pb.gz", NEW)]);
    let shares = folder.plimsoll(&["profile", "new.pb.gz", "--base", "old.pb.gz"]);
    shares.exits_with(0).stdout_contains(&["as shares of the total", "Give --requests and --base-requests"]);
    let counts = ["--requests", "1000", "--base-requests", "1000", "--json", "-"];
    let json = folder.plimsoll(&[&["profile", "new.pb.gz", "--base", "old.pb.gz"], &counts[..]].concat());
    let value: serde_json::Value = serde_json::from_str(&json.exits_with(0).stdout).unwrap();
    let comparison = &value["comparison"];
    assert_eq!(comparison["total"]["significance"], "moved");
    assert_eq!(comparison["movers"][0]["name"], "parse");
    assert_eq!(comparison["movers"][0]["change"]["difference"], 3.0 * MS as f64);
    assert_eq!(comparison["basis"]["by"], "request");
    let same = folder.plimsoll(&["profile", "old.pb.gz", "--base", "old.pb.gz"]);
    same.exits_with(0).stdout_contains(&["Both are the same profile.", "None of 2 functions moved"]);
}

#[test]
fn an_earlier_profile_is_subtracted_and_a_flame_graph_written() {
    let folder = folder(&[("old.pb.gz", OLD), ("new.pb.gz", NEW)]);
    let between = folder.plimsoll(&["profile", "new.pb.gz", "--since", "old.pb.gz", "--flame", "flame.html"]);
    between.exits_with(0).stdout_contains(&["cpu in nanoseconds: 3.00 s in all", "parse"]);
    assert!(!between.stdout.contains("store"), "{}", between.stdout);
    let page = folder.read("flame.html");
    assert!(page.contains("<title>new.pb.gz</title>") && page.contains("parse: 3.00 s"), "{page}");
}

#[test]
fn a_flame_graph_against_a_baseline_is_coloured_by_the_difference() {
    let folder = folder(&[("old.pb.gz", OLD), ("new.pb.gz", NEW)]);
    let arguments = ["profile", "new.pb.gz", "--base", "old.pb.gz", "--flame", "diff.html"];
    folder
        .plimsoll(&[&arguments[..], &["--requests", "1000", "--base-requests", "1000"]].concat())
        .exits_with(0);
    let page = folder.read("diff.html");
    let class_of = |title: &str| {
        let before = &page[..page.find(title).unwrap_or_else(|| panic!("no {title:?} in {page}"))];
        let class = before.rsplit_once("<svg class=\"").unwrap().1;
        class.split('"').next().unwrap().to_owned()
    };
    assert_eq!(class_of("parse: 6.00 ms per request, before 3.00 ms: +3.00 ms"), "more4");
    assert_eq!(class_of("store: 6.00 ms per request, before 6.00 ms: 0"), "same");
    assert!(page.contains("Red boxes cost more for each request") && !page.contains("src=\"http"));

    folder.plimsoll(&arguments).exits_with(0);
    let page = folder.read("diff.html");
    assert!(page.contains("parse: 49.9 %, before 33.3 %: +16.7 points"), "{page}");
    assert!(page.contains("store: 49.9 %, before 66.5 %: −16.6 points"), "{page}");
}

#[test]
fn what_cannot_be_used_is_exit_2_and_says_why() {
    let folder = folder(&[("cpu.pb.gz", OLD)]);
    folder.write("page.html", "<html>not found</html>");
    let whole = write(&cpu(OLD)).unwrap();
    folder.write("cut.pb.gz", &whole[..whole.len() / 2]);
    let cases: [(&[&str], &str); 8] = [
        (&["absent.pb.gz"], "cannot read absent.pb.gz"),
        (
            &["page.html"],
            "page.html: it is not a pprof profile: it is text that begins with `<html>not found</html>`",
        ),
        (&["cut.pb.gz"], "cut.pb.gz: its gzip stream breaks off or is damaged"),
        (
            &["cpu.pb.gz", "--type", "alloc_space"],
            "cpu.pb.gz: it has no sample type `alloc_space`; it has: samples, cpu",
        ),
        (&["cpu.pb.gz", "--focus", "("], "cpu.pb.gz: the focus is not a regular expression"),
        (&["cpu.pb.gz", "--base", "page.html"], "page.html: it is not a pprof profile"),
        (&["cpu.pb.gz", "--requests", "5"], "--base-requests"),
        (&["cpu.pb.gz", "--top", "0"], "--top"),
    ];
    for (arguments, complaint) in cases {
        folder.plimsoll(&[&["profile"], arguments].concat()).exits_with(2).stderr_contains(&[complaint]);
    }
    folder.plimsoll(&["profile", "--help"]).exits_with(0).stdout_contains(&[
        "Examples:",
        "--flame",
        "--base-since",
        "Subtract",
    ]);
}
