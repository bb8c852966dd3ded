//! Think times in plans.

use super::*;
use workload::think::ThinkDistribution;

fn plan(think: &str) -> String {
    format!(
        "version = 1\n[[scenarios]]\nname = \"s\"\nexecutor = \"constant-vus\"\nvus = 10\nduration = \"30s\"\n\
         [[scenarios.steps]]\nname = \"t\"\nget = \"http://127.0.0.1:1/\"\nthink = {think}\n"
    )
}

fn read(think: &str) -> Result<LoadedPlan, PlanErrors> {
    let files = FilesInMemory::one("plan.toml", plan(think));
    load(Path::new("plan.toml"), &files, &|_| None, &Overrides::default())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn think_times_are_read_in_every_form_and_stored() {
    let drawn = Think::Drawn;
    for (text, expected) in [
        ("\"2s\"", Think::Constant(seconds(2))),
        ("\"1s..3s\"", drawn(ThinkDistribution::Uniform { min: seconds(1), max: seconds(3) })),
        ("\"1s .. 1m30s\"", drawn(ThinkDistribution::Uniform { min: seconds(1), max: seconds(90) })),
        (
            "{ mean = \"2s\", distribution = \"exponential\" }",
            drawn(ThinkDistribution::Exponential { mean: seconds(2) }),
        ),
        (
            "{ mean = \"3s\", sd = \"1s\" }",
            drawn(ThinkDistribution::Normal { mean: seconds(3), sd: seconds(1) }),
        ),
        (
            "{ median = \"2s\", p95 = \"8s\", distribution = \"log-normal\" }",
            drawn(ThinkDistribution::LogNormal { median: seconds(2), p95: seconds(8) }),
        ),
    ] {
        let workload = read(text).unwrap_or_else(|errors| panic!("{text}: {errors}")).workload;
        assert_eq!(workload.steps().next().unwrap().think, expected, "{text}");
        let stored = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<Workload>(&stored).unwrap(), workload, "{text}");
    }
}

#[test]
fn think_times_that_cannot_be_are_errors_with_their_place() {
    for (text, part) in [
        ("2", "\"1s..3s\""),
        ("\"3s..1s\"", "longer than the first"),
        ("\"1s..\"", "not a duration"),
        ("\"1-3s\"", "has two dots: `\"1s..3s\"`"),
        ("\"500ms - 2s\"", "has two dots: `\"500ms..2s\"`"),
        ("{ mean = \"2s\" }", "exponential"),
        ("{ mean = \"2s\", sd = \"1s\" }", "a third"),
        ("{ mean = \"0s\", distribution = \"exponential\" }", "longer than 0"),
        ("{ median = \"2s\", p95 = \"1s\" }", "p95"),
        ("{ median = \"1ms\", p95 = \"1s\" }", "100 times"),
        ("{ median = \"2s\", p95 = \"8s\", distribution = \"normal\" }", "a think time is"),
        ("{ medium = \"2s\", p95 = \"8s\" }", "did you mean `median`?"),
    ] {
        let errors = read(text).unwrap_err().to_string();
        assert!(errors.contains("plan.toml:10:") && errors.contains(part), "{text}: {errors}");
    }
}

#[test]
fn virtual_users_that_think_make_at_most_so_many_iterations() {
    let workload = read("\"1s..3s\"").unwrap().workload;
    let paces = workload::offer::think_paces(&workload);
    assert_eq!(paces.len(), 1);
    assert_eq!((paces[0].scenario.as_str(), paces[0].mean), ("s", seconds(2)));
    assert!((paces[0].most_per_second - 5.0).abs() < 1e-9);
    assert!(workload::offer::think_paces(&read("\"0s\"").unwrap().workload).is_empty());
}
