//! The plans in `examples/listings` have the documented mix, rates and objectives.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

const READS: [&str; 2] = ["get listing", "get product"];
const SEARCHES: [&str; 2] = ["search", "list"];
const FAVORITES_AND_VIEWS: [&str; 2] = ["is favourite", "view"];
const WRITES: [&str; 3] = ["move stock", "update", "mark"];

fn plan(name: &str) -> Table {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/listings");
    std::fs::read_to_string(folder.join(name)).unwrap().parse().unwrap()
}

fn all<'a>(table: &'a Table, name: &str) -> impl Iterator<Item = &'a Table> {
    table[name].as_array().unwrap().iter().map(|one| one.as_table().unwrap())
}

fn text<'a>(table: &'a Table, name: &str) -> &'a str {
    table[name].as_str().unwrap()
}

#[test]
fn the_weights_of_every_scenario_sum_to_a_hundred() {
    for name in ["mix.toml", "mix-flat-out.toml"] {
        for scenario in all(&plan(name), "scenarios") {
            let mut weights = BTreeMap::new();
            for step in all(scenario, "steps") {
                weights.insert(text(step, "name"), step["weight"].as_integer().unwrap());
            }
            assert_eq!(weights.values().sum::<i64>(), 100, "{name}");
            let of = |steps: &[&str]| steps.iter().map(|step| weights[step]).sum::<i64>();
            let parts = [of(&READS), of(&SEARCHES), of(&["stats"]), of(&FAVORITES_AND_VIEWS), of(&WRITES)];
            assert_eq!(parts, [50, 20, 15, 10, 5], "{name}");
        }
    }
}

#[test]
fn the_rate_is_10000_a_second_for_2_minutes_then_15000_for_30_seconds() {
    for name in ["stats.toml", "mix.toml"] {
        let plan = plan(name);
        let phases: Vec<_> =
            all(&plan, "phases").map(|phase| (text(phase, "name"), text(phase, "duration"))).collect();
        assert_eq!(phases, [("busy", "2m"), ("burst", "30s")]);
        let rates: Vec<_> = all(&plan, "scenarios")
            .map(|scenario| (scenario["phases"][0].as_str().unwrap(), text(scenario, "rate")))
            .collect();
        assert_eq!(rates, [("busy", "10000/s"), ("burst", "15000/s")]);
        let objectives: Vec<&str> =
            plan["objectives"].as_table().unwrap().values().filter_map(Value::as_str).collect();
        for scenario in all(&plan, "scenarios") {
            let phase = scenario["phases"][0].as_str().unwrap();
            let mut steps: Vec<_> = all(scenario, "steps").map(|step| text(step, "name")).collect();
            if let [_] = steps[..] {
                steps = vec!["all"];
            }
            for (step, (quantile, ms)) in steps
                .into_iter()
                .flat_map(|step| [("p50", 50), ("p95", 100), ("p99", 200)].map(|bound| (step, bound)))
            {
                let objective = format!("{quantile}({step}, phase = {phase}) < {ms}ms");
                assert!(objectives.contains(&objective.as_str()), "{name} lacks {objective}");
            }
        }
        assert!(objectives.contains(&"error_rate(all) < 0.1%"));
    }
}
