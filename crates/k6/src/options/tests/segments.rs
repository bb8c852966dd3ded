use super::super::OptionsError;
use super::{of_script, only};
use serde_json::{Value, json};

/// The length and the first three virtual users of a part.
fn segment(segment: &str, sequence: Option<&str>) -> Result<(f64, [u64; 3]), OptionsError> {
    let options = json!({"vus": 100, "duration": "1s", "executionSegment": segment, "executionSegmentSequence": sequence});
    of_script(options).map(|run| (run.part.length(), [0, 1, 2].map(|number| run.part.stripes().nth(number))))
}

#[test]
fn parts_have_the_virtual_users_that_k6_gives_them() {
    assert_eq!(segment("", None), Ok((1.0, [0, 1, 2])));
    assert_eq!((segment("50%", None), segment("1/2:1", None)), (Ok((0.5, [0, 2, 4])), Ok((0.5, [1, 3, 5]))));
    assert_eq!(segment("0.5:1", Some("0,1/2,1")), Ok((0.5, [1, 3, 5])));
    assert_eq!(segment("2/3:1", Some("0,1/3,2/3,1")).unwrap().1, [2, 5, 8]);
    assert_eq!(segment("0.25:0.5", Some("0,25%,50%,3/4,1")), Ok((0.25, [1, 5, 9])));
    assert_eq!(segment("1/3", None).unwrap().1, [1, 4, 7]);
    assert_eq!(segment("0:1/4", None), Ok((0.25, [1, 5, 9])));
    assert_eq!(segment("1/4:1/2", Some("1/4,1/2")), Ok((0.25, [3, 7, 11])));
    assert_eq!(segment("1/4:1", None), Ok((0.75, [0, 2, 3])));
}

#[test]
fn other_parts_are_refused() {
    let refused = [
        segment("0:0.1234567", None),
        segment("1/3", Some("0,1/2,1")),
        segment("", Some("0,1/2,1")),
        segment("x", None),
        segment("3/2", None),
        segment("2/3:1/3", None),
        segment("1/2", Some("1,0")),
    ];
    let refused = refused.map(|refused| refused.unwrap_err().to_string()).join("\n");
    insta::assert_snapshot!(refused, @r#"
    executionSegment in parts below a millionth is not supported: write its ends with smaller numbers, such as 1/3
    There were problems with the specified script configuration:
    	- executionSegment is not part of executionSegmentSequence
    There were problems with the specified script configuration:
    	- executionSegment is not part of executionSegmentSequence
    `executionSegment` (script): "x" is not a share from 0 to 1, such as "1/3", "25%" or "0.25"
    `executionSegment` (script): "3/2" is not a share from 0 to 1, such as "1/3", "25%" or "0.25"
    `executionSegment` (script): "2/3:1/3" must begin before it ends
    `executionSegmentSequence` (script): "1,0" is not a list of ascending shares from 0 to 1, such as "0,1/3,2/3,1"
    "#);
}

#[test]
fn a_part_has_the_share_that_k6_gives_it() {
    let third = |part: &str, vus: u64| {
        only(of_script(json!({"vus": vus, "iterations": vus * 5 + 1, "executionSegment": part,
            "executionSegmentSequence": "0,1/3,2/3,1"})))
    };
    let shared = |iterations: u64, vus: u64| {
        format!(
            "default: {iterations} iterations shared among {vus} VUs (maxDuration: 10m0s, gracefulStop: 30s)"
        )
    };
    let parts = ["0:1/3", "1/3:2/3", "2/3:1"];
    assert_eq!(parts.map(|part| third(part, 1)), [shared(6, 1), shared(0, 0), shared(0, 0)]);
    assert_eq!(parts.map(|part| third(part, 2)), [shared(6, 1), shared(5, 1), shared(0, 0)]);
    assert_eq!(parts.map(|part| third(part, 4)), [shared(11, 2), shared(5, 1), shared(5, 1)]);
    assert_eq!(parts.map(|part| third(part, 5)), [shared(11, 2), shared(10, 2), shared(5, 1)]);
    let rate =
        json!({"executor": "constant-arrival-rate", "rate": 1, "duration": "3s", "preAllocatedVUs": 5});
    let rate = of_script(json!({"executionSegment": "1/2:1", "scenarios": {"b": rate}}));
    assert_eq!(only(rate), "b: 0.40 iterations/s for 3s (maxVUs: 2, gracefulStop: 30s)");
    let half = json!({"executionSegment": "1/2:1", "scenarios": {
        "a": {"executor": "constant-arrival-rate", "rate": 10, "preAllocatedVUs": 2, "maxVUs": 10, "duration": "5s"},
        "b": {"executor": "ramping-arrival-rate", "stages": [{"target": 9, "duration": "5s"}], "preAllocatedVUs": 5},
        "c": {"executor": "ramping-vus", "stages": [{"target": 9, "duration": "5s"}]},
        "d": {"executor": "per-vu-iterations", "vus": 5, "iterations": 3}
    }});
    insta::assert_snapshot!(of_script(half).unwrap().header().join("\n"), @"
         scenarios: (50.00%) 4 scenarios, 13 max VUs, 10m30s max duration (incl. graceful stop):
                  * a: 5.00 iterations/s for 5s (maxVUs: 1-5, gracefulStop: 30s)
                  * b: Up to 4.50 iterations/s for 5s over 1 stages (maxVUs: 2, gracefulStop: 30s)
                  * c: Up to 4 looping VUs for 5s over 1 stages (gracefulRampDown: 30s, gracefulStop: 30s)
                  * d: 3 iterations for each of 2 VUs (maxDuration: 10m0s, gracefulStop: 30s)
    ");
    let none: Value = json!({"vus": 1, "duration": "5s", "executionSegment": "1/2:1"});
    let header = of_script(none).unwrap().header();
    let expected = "     scenarios: (50.00%) 1 scenario, 0 max VUs, 0s max duration (incl. graceful stop):";
    assert_eq!(header[0], expected);
}
