//! Challenge files that are refused, each with its path and reason; and the generated files.

use super::*;

use proptest::prelude::*;
use serde_json::{Value, json};

fn goal(id: &str, prerequisites: &[&str]) -> Value {
    json!({
        "goalId": id, "name": "n", "description": "d", "eventSource": "statistic", "defaultAssigned": true,
        "requirement": { "statCode": "kills", "operator": ">=", "targetValue": 1 },
        "reward": { "type": "ITEM", "rewardId": "r", "quantity": 1 }, "prerequisites": prerequisites,
    })
}

fn file(goals: &[Value]) -> Value {
    json!({ "challenges": [{ "challengeId": "c", "name": "n", "description": "d", "goals": goals }] })
}

/// The refusal of a one-goal file after `path` (a JSON pointer below the goal) was set to `value`.
fn refusal(path: &str, value: Value) -> String {
    let mut goal = goal("g", &[]);
    let (parent, key) = path.rsplit_once('/').unwrap();
    goal.pointer_mut(parent).unwrap()[key] = value;
    refused(&file(&[goal]))
}

fn refused(file: &Value) -> String {
    Catalog::parse("f.json", &file.to_string()).unwrap_err().to_string()
}

#[test]
fn every_broken_rule_names_file_path_and_reason() {
    let at = "f.json: challenges[0].goals[0].";
    for (path, value, message) in [
        ("/goalId", json!(""), "goalId: must not be empty"),
        ("/goalId", json!(7), "goalId: must be a text"),
        ("/name", Value::Null, "name: is missing"),
        ("/eventSource", json!("chat"), "eventSource: must be one of statistic, login"),
        ("/defaultAssigned", json!("yes"), "defaultAssigned: must be true or false"),
        ("/requirement/operator", json!("=="), "requirement.operator: must be one of >="),
        (
            "/requirement/targetValue",
            json!(0),
            "requirement.targetValue: must be a whole number from 1 to 2147483647",
        ),
        (
            "/requirement/targetValue",
            json!(2_147_483_648_u32),
            "requirement.targetValue: must be a whole number from 1 to 2147483647",
        ),
        (
            "/requirement/targetValue",
            json!(1.5),
            "requirement.targetValue: must be a whole number from 1 to 2147483647",
        ),
        ("/requirement/statCode", json!(" "), "requirement.statCode: must not be empty"),
        (
            "/requirement/progressMode",
            json!("daily"),
            "requirement.progressMode: must be one of absolute, relative",
        ),
        ("/reward/type", json!("CASH"), "reward.type: must be one of ITEM, WALLET"),
        ("/reward/rewardId", json!(""), "reward.rewardId: must not be empty"),
        ("/reward/quantity", json!(-1), "reward.quantity: must be a whole number from 1 to 2147483647"),
        ("/reward", Value::Null, "reward: is missing"),
        ("/prerequisites", json!(["x"]), "prerequisites[0]: no goal has the id \"x\""),
        ("/prerequisites", json!("x"), "prerequisites: must be a list of texts"),
        ("/prerequisites", json!(["g", 7]), "prerequisites: must be a list of texts"),
        (
            "/goalId",
            json!("x".repeat(101)),
            "goalId: must be at most 100 characters without control characters",
        ),
        ("/goalId", json!("a\nb"), "goalId: must be at most 100 characters without control characters"),
        ("/name", json!(" "), "name: must not be empty"),
        ("/description", json!("x".repeat(2_001)), "description: must be at most 2000 characters"),
        ("/eventSource", Value::Null, "eventSource: must be one of statistic, login"),
        ("/requirement", Value::Null, "requirement: is missing"),
        ("/requirement", json!([]), "requirement: must be an object"),
        ("/reward/quantity", json!("1"), "reward.quantity: must be a whole number from 1 to 2147483647"),
    ] {
        assert_eq!(refusal(path, value), format!("{at}{message}"));
    }
}

/// The only goal of a file, and the warnings, each with its path below the goal.
fn accepted(goal: Value) -> (Goal, Vec<String>) {
    let catalog = Catalog::parse("f", &file(&[goal]).to_string()).unwrap();
    let at = "challenges[0].goals[0].";
    let warnings = catalog.warnings.iter().map(|warning| warning.to_string().replace(at, "")).collect();
    (catalog.goal(GoalIndex(0)).clone(), warnings)
}

#[test]
fn types_of_former_formats_say_how_events_are_counted() {
    use ProgressMode::{Absolute, EachDay, EachEvent, Relative};
    for (source, of_goal, mode, expected) in [
        ("statistic", json!({}), None, Absolute),
        ("statistic", json!({ "type": "absolute" }), None, Absolute),
        ("statistic", json!({ "type": "increment" }), None, EachEvent),
        ("statistic", json!({ "type": "increment", "daily": false }), None, EachEvent),
        ("statistic", json!({ "type": "increment", "daily": true }), None, EachDay),
        ("statistic", json!({ "type": "daily" }), None, EachDay),
        ("statistic", json!({ "type": "daily", "daily": true }), None, EachDay),
        ("statistic", json!({ "type": "absolute" }), Some("absolute"), Absolute),
        ("statistic", json!({}), Some("relative"), Relative),
        ("login", json!({}), None, EachEvent),
        ("login", json!({ "type": "absolute" }), None, EachEvent),
        ("login", json!({ "type": "increment", "daily": true }), None, EachDay),
        ("login", json!({ "type": "daily" }), None, EachDay),
        ("login", json!({}), Some("relative"), EachEvent),
    ] {
        let mut goal = goal("g", &[]);
        goal["eventSource"] = source.into();
        goal["requirement"]["progressMode"] = mode.into();
        goal.as_object_mut().unwrap().extend(of_goal.as_object().unwrap().clone());
        let (read, warnings) = accepted(goal);
        assert_eq!((read.mode, warnings), (expected, vec![]), "{source} {of_goal} {mode:?}");
    }
}

#[test]
fn keys_that_have_no_effect_are_warnings() {
    let with = |key: &str, value: Value| {
        let mut goal = goal("g", &[]);
        goal[key] = value;
        goal
    };
    let (_, warnings) = accepted(with("daily", json!(true)));
    assert_eq!(warnings, ["daily: has an effect only with type increment"]);
    let mut both = with("type", json!("increment"));
    both["requirement"]["progressMode"] = json!("relative");
    let (goal, warnings) = accepted(both);
    assert_eq!(goal.mode, ProgressMode::Relative);
    assert_eq!(warnings, ["type: has no effect: requirement.progressMode is given, and decides"]);
    let on_expiry = json!({ "allowReselection": true });
    let (_, warnings) = accepted(with("rotation", json!({ "enabled": false, "onExpiry": on_expiry })));
    assert_eq!(warnings, ["rotation.onExpiry.allowReselection: has no effect without resetProgress"]);
    let message = refusal("/type", json!("weekly"));
    assert_eq!(message, "f.json: challenges[0].goals[0].type: must be one of absolute, increment, daily");
}

/// A misspelt key is a rule without effect, so it must not go unnoticed; but a file with more than this version knows can
/// be used.
#[test]
fn unknown_keys_are_warnings_at_every_depth() {
    for (parent, path) in [
        ("", ""),
        ("/challenges/0", "challenges[0]."),
        ("/challenges/0/goals/0", "challenges[0].goals[0]."),
        ("/challenges/0/goals/0/requirement", "challenges[0].goals[0].requirement."),
        ("/challenges/0/goals/0/reward", "challenges[0].goals[0].reward."),
        ("/challenges/0/goals/0/rotation", "challenges[0].goals[0].rotation."),
        ("/challenges/0/goals/0/rotation/onExpiry", "challenges[0].goals[0].rotation.onExpiry."),
    ] {
        let mut goal = goal("g", &[]);
        goal["rotation"] = json!({ "enabled": false, "onExpiry": { "resetProgress": true } });
        let mut file = file(&[goal]);
        file.pointer_mut(parent).unwrap()["targetvalue"] = json!(1);
        let catalog = Catalog::parse("f", &file.to_string()).unwrap();
        assert_eq!(catalog.warnings.len(), 1, "{parent}");
        let warning = catalog.warnings[0].to_string();
        assert!(
            warning.starts_with(&format!("{path}targetvalue: is not known here and has no effect")),
            "{warning}"
        );
    }
}

#[test]
fn challenges_are_checked_like_goals() {
    for (key, value, message) in [
        ("challengeId", json!(""), "challengeId: must not be empty"),
        ("challengeId", Value::Null, "challengeId: is missing"),
        ("challengeId", json!(["c"]), "challengeId: must be a text"),
        ("name", json!(""), "name: must not be empty"),
        ("description", json!(7), "description: must be a text"),
        ("goals", json!({}), "goals: must be a list with at least one entry"),
        ("goals", json!(["g"]), "goals[0]: must be an object"),
    ] {
        let mut file = file(&[goal("g", &[])]);
        file["challenges"][0][key] = value;
        assert_eq!(refused(&file), format!("f.json: challenges[0].{message}"));
    }
    for empty in [json!([]), Value::Null, json!("c")] {
        let message = refused(&json!({ "challenges": empty }));
        assert_eq!(message, "f.json: challenges: must be a list with at least one entry");
    }
    assert_eq!(refused(&json!([])), "f.json: must be an object");
}

#[test]
fn ids_are_unique_over_the_whole_file() {
    let mut duplicated = file(&[goal("g", &[])]);
    let second = json!({ "challengeId": "d", "name": "n", "goals": [goal("g", &[])] });
    duplicated["challenges"].as_array_mut().unwrap().push(second);
    let message = "\"g\" is used twice; ids are unique over the whole file";
    assert_eq!(refused(&duplicated), format!("f.json: challenges[1].goals[0]: {message}"));
    duplicated["challenges"][1]["goals"][0]["goalId"] = json!("h");
    duplicated["challenges"][1]["challengeId"] = json!("c");
    let message = "\"c\" is used twice; ids are unique over the whole file";
    assert_eq!(refused(&duplicated), format!("f.json: challenges[1].challengeId: {message}"));
}

#[test]
fn all_problems_are_reported_at_once() {
    let mut wrong = goal("", &["x"]);
    wrong["reward"]["quantity"] = json!(0);
    let lines = refused(&file(&[wrong])).lines().count();
    assert_eq!(lines, 3);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (path, reason) in
        [(folder.path().join("nowhere.json"), "No such file"), (folder.path().to_owned(), "directory")]
    {
        let refused = Catalog::load(&path).unwrap_err().to_string();
        assert!(refused.starts_with(&path.display().to_string()) && refused.contains(reason), "{refused}");
    }
    let path = folder.path().join("bytes.json");
    std::fs::write(&path, b"{\"challenges\": \"\xff\"}").unwrap();
    assert!(Catalog::load(&path).unwrap_err().to_string().starts_with(&path.display().to_string()));
}

#[test]
fn rotation_is_read_with_its_schedule_and_what_it_resets() {
    for (schedule, name) in
        [(Schedule::Daily, "daily"), (Schedule::Weekly, "weekly"), (Schedule::Monthly, "monthly")]
    {
        for (on_expiry, resets) in [
            (Value::Null, Resets::Nothing),
            (json!({}), Resets::Nothing),
            (json!({ "resetProgress": true }), Resets::Unclaimed),
            (json!({ "resetProgress": true, "allowReselection": true }), Resets::Everything),
        ] {
            let mut goal = goal("g", &[]);
            goal["requirement"]["progressMode"] = "relative".into();
            goal["rotation"] =
                json!({ "enabled": true, "type": "global", "schedule": name, "onExpiry": on_expiry });
            let (read, warnings) = accepted(goal.clone());
            assert_eq!((read.rotation, warnings), (Some(Rotation { schedule, resets }), vec![]));
            goal["rotation"]["enabled"] = false.into();
            assert_eq!(accepted(goal).0.rotation, None);
        }
    }
}

#[test]
fn rotation_needs_progress_that_can_begin_again() {
    let on = json!({ "enabled": true, "type": "global", "schedule": "daily" });
    let message = refusal("/rotation", on.clone());
    assert!(message.contains("rotation.enabled: needs requirement.progressMode relative"), "{message}");
    for kind in ["increment", "daily"] {
        let mut counted = goal("g", &[]);
        counted["rotation"] = on.clone();
        counted["type"] = kind.into();
        assert!(accepted(counted).0.rotation.is_some());
    }
    let unknown = refusal("/rotation", json!({ "enabled": true, "type": "personal", "schedule": "hourly" }));
    assert!(unknown.contains("rotation.type: must be one of global"), "{unknown}");
    assert!(unknown.contains("rotation.schedule: must be one of daily, weekly, monthly"), "{unknown}");
}

#[test]
fn the_whole_file_is_checked() {
    assert_eq!(refused(&json!({})), "f.json: challenges: must be a list with at least one entry");
    assert_eq!(refused(&file(&[])), "f.json: challenges[0].goals: must be a list with at least one entry");
    assert_eq!(
        refused(&file(&[goal("g", &[]), goal("g", &[])])),
        "f.json: challenges[0].goals[1]: \"g\" is used twice; ids are unique over the whole file"
    );
    let truncated = Catalog::parse("f.json", "{\"challenges\": [").unwrap_err().to_string();
    assert!(truncated.starts_with("f.json: EOF while parsing"), "{truncated}");
}

#[test]
fn prerequisite_cycles_are_refused_with_their_goals() {
    assert_eq!(
        refused(&file(&[goal("z", &["a"]), goal("a", &["b"]), goal("b", &["c"]), goal("c", &["a"])])),
        "f.json: challenges[0].goals[1].prerequisites: the prerequisites form a cycle: a -> b -> c -> a"
    );
    assert!(refused(&file(&[goal("a", &["a"])])).ends_with("form a cycle: a -> a"));
    let diamond = file(&[goal("a", &[]), goal("b", &["a"]), goal("c", &["a"]), goal("d", &["b", "c"])]);
    assert!(Catalog::parse("f", &diamond.to_string()).is_ok());
}

#[test]
fn a_chain_of_many_goals_does_not_exhaust_the_stack() {
    let mut goals: Vec<Value> =
        (0..20_000u32).map(|i| goal(&format!("g{i}"), &[&format!("g{}", i + 1)])).collect();
    goals.push(goal("g20000", &[]));
    assert!(Catalog::parse("f", &file(&goals).to_string()).is_ok());
}

#[test]
fn the_checked_in_file_equals_the_generated_one() {
    let text = generate(CatalogSize { challenges: 10, goals: 50, defaults: 10 });
    assert!(
        text == crate::server::EMBEDDED_CHALLENGES,
        "run: challenge config generate > examples/challenge.json"
    );
    let catalog = Catalog::parse("generated", &text).unwrap();
    assert_eq!((catalog.challenges.len(), catalog.goals().count(), catalog.defaults().len()), (10, 500, 10));
    let moved = |trigger| catalog.triggered(trigger).iter().any(|index| catalog.goal(*index).is_default);
    assert!(
        moved(catalog.statistic_trigger("enemy_kills").unwrap()) && moved(catalog.login_trigger().unwrap())
    );
    assert!(catalog.goals().any(|(_, goal)| !goal.prerequisites.is_empty()));
    assert!(catalog.goals().any(|(_, goal)| goal.mode == ProgressMode::Relative));
}

#[test]
fn the_example_with_rotation_and_former_formats_has_no_warnings() {
    let text = include_str!("../../../../examples/challenge-rotating.json");
    let catalog = Catalog::parse("example", text).unwrap();
    assert_eq!(catalog.warnings, []);
    assert_eq!(catalog.rotating().len(), 5);
    let modes: Vec<ProgressMode> = catalog.goals().map(|(_, goal)| goal.mode).collect();
    for mode in
        [ProgressMode::Absolute, ProgressMode::Relative, ProgressMode::EachEvent, ProgressMode::EachDay]
    {
        assert!(modes.contains(&mode), "{mode:?}");
    }
}

proptest! {
    #[test]
    fn every_generated_size_is_valid(challenges in 1..20u32, goals in 1..20u32, share in 0.0..=1.0f64) {
        let defaults = (f64::from(challenges * goals) * share) as u32;
        let catalog = Catalog::parse("generated", &generate(CatalogSize { challenges, goals, defaults })).unwrap();
        prop_assert_eq!(catalog.defaults().len(), defaults as usize);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in r#"(\{|\}|\[|\]|"challenges"|"goals"|:|,|1|null|"x"){0,40}"#) {
        let _refused_or_not = Catalog::parse("f", &text);
    }
}
