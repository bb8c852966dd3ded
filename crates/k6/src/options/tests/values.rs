use std::time::Duration;

use serde_json::json;
use workload::model::{Executor, Flow, Phase, Stage, VuStage};

use super::super::{Flags, SystemTags, TimeUnit, TlsVersion, TrendStatistic};
use super::{of_all, of_script};

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn scenarios_become_those_of_a_workload() {
    let run = of_script(json!({"tags": {"all": "1", "a": "c"}, "scenarios": {
        "car": {"executor": "constant-arrival-rate", "rate": 90, "timeUnit": "1m", "duration": "5s",
            "preAllocatedVUs": 2, "maxVUs": 7, "exec": "other", "startTime": "3s", "gracefulStop": "0s",
            "tags": {"a": "b"}, "env": {"X": "y"}},
        "rar": {"executor": "ramping-arrival-rate", "startRate": 1, "timeUnit": "100ms", "preAllocatedVUs": 9,
            "stages": [{"target": 5, "duration": "4s"}]},
        "rv": {"executor": "ramping-vus", "startVUs": 2, "gracefulRampDown": "1s",
            "stages": [{"duration": "5s", "target": 10}, {"duration": "1s", "target": 0}]},
        "si": {"executor": "shared-iterations", "vus": 4, "iterations": 10}
    }}))
    .unwrap();
    let [rar, rv, si, car] = run.scenarios.as_slice() else { panic!("four scenarios") };
    assert_eq!((car.function(), rar.function()), ("other", "default"));
    assert_eq!(car.env, [("X".to_owned(), "y".to_owned())].into());
    assert_eq!(car.executor, Executor::ConstantArrivalRate { rate: 1.5, duration: seconds(5) });
    let stages = vec![Stage { to: 50.0, over: seconds(4) }];
    assert_eq!(rar.executor, Executor::RampingArrivalRate { start_rate: 10.0, stages });
    let stages = vec![VuStage { to: 10, over: seconds(5) }, VuStage { to: 0, over: seconds(1) }];
    let ramp = Executor::RampingVus { start_vus: 2, stages, graceful_ramp_down: seconds(1) };
    assert_eq!((&rv.executor, rv.max_vus), (&ramp, 10));
    let shared = Executor::SharedIterations { vus: 4, iterations: 10, max_duration: seconds(600) };
    assert_eq!((&si.executor, si.max_vus, si.graceful_stop), (&shared, 4, seconds(30)));
    let workload = run.workload("script");
    let [Phase { start, end, .. }] = workload.phases.as_slice() else { panic!("one phase") };
    assert_eq!((*start, *end), (seconds(0), seconds(600)));
    let tags =
        |pairs: [(&str, &str); 2]| pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    assert_eq!(workload.scenarios[0].tags, tags([("a", "c"), ("all", "1")]));
    let [.., car] = workload.scenarios.as_slice() else { panic!("four scenarios") };
    assert_eq!(
        (car.start, car.graceful_stop, car.preallocated_vus, car.max_vus),
        (seconds(3), seconds(0), 2, 7)
    );
    assert_eq!(car.tags, tags([("a", "b"), ("all", "1")]));
    assert_eq!(car.flow, Flow::Script { function: "other".to_owned() });
}

#[test]
fn options_that_are_not_set_have_the_defaults_of_k6() {
    let options = of_script(json!({})).unwrap().options;
    assert_eq!((options.setup_timeout(), options.teardown_timeout()), (seconds(60), seconds(60)));
    assert_eq!((options.max_redirects(), options.batch(), options.batch_per_host()), (10, 20, Some(6)));
    assert_eq!((options.rps(), options.min_iteration_duration()), (None, seconds(0)));
    let statistics: Vec<String> = options.trend_statistics().iter().map(TrendStatistic::to_string).collect();
    assert_eq!(statistics, ["avg", "min", "med", "max", "p(90)", "p(95)"]);
    assert!(SystemTags::default().has("url") && !SystemTags::default().has("vu"));
    let set = json!({"setupTimeout": 30_000, "maxRedirects": -1, "batch": 0, "batchPerHost": -3, "rps": -4,
        "minIterationDuration": "2s", "summaryTrendStats": ["count", "p(99.9)"], "systemTags": ["vu", "nope"]});
    let options = of_script(set).unwrap().options;
    assert_eq!((options.setup_timeout(), options.min_iteration_duration()), (seconds(30), seconds(2)));
    assert_eq!((options.max_redirects(), options.batch(), options.batch_per_host()), (0, 1, None));
    assert_eq!(options.rps(), None);
    let statistics = [TrendStatistic::Count, TrendStatistic::Percentile(99.9)];
    assert_eq!(options.trend_statistics(), statistics);
    let tags = options.system_tags.unwrap();
    assert!(tags.has("vu") && !tags.has("url") && !tags.has("nope"));
}

#[test]
fn every_flag_sets_its_option() {
    let one = |text: &str| vec![text.to_owned()];
    let text = |text: &str| Some(text.to_owned());
    let flags = Flags {
        vus: Some(2),
        duration: text("5s"),
        paused: Some(false),
        no_setup: Some(true),
        no_teardown: Some(true),
        max_redirects: Some(3),
        batch: Some(4),
        batch_per_host: Some(5),
        rps: Some(6),
        user_agent: text("me"),
        insecure_skip_tls_verify: Some(true),
        no_connection_reuse: Some(true),
        no_vu_connection_reuse: Some(true),
        min_iteration_duration: text("7s"),
        throw: Some(true),
        blacklist_ips: one("10.0.0.0/8,11.0.0.0/8"),
        block_hostnames: one("*.a.com"),
        summary_trend_stats: one("avg, max"),
        summary_time_unit: text("ms"),
        system_tags: one("url"),
        tags: vec!["a=b=c".into(), "d=e".into()],
        discard_response_bodies: Some(true),
        dns: text("ttl=inf,select=first"),
        no_thresholds: Some(true),
        env: vec!["A=b=c".into(), "C".into()],
        ..Flags::default()
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(flags.variables(), Ok([pair("A", "b=c"), pair("C", "")].into()));
    let options = of_all(json!({}), flags, &[]).unwrap().options;
    assert_eq!(
        (options.vus, options.max_redirects(), options.batch(), options.rps()),
        (Some(2), 3, 4, Some(6))
    );
    let set = [
        options.no_setup,
        options.no_teardown,
        options.insecure_skip_tls_verify,
        options.no_connection_reuse,
        options.no_vu_connection_reuse,
        options.throw,
        options.discard_response_bodies,
        options.no_thresholds,
    ];
    assert_eq!(set, [Some(true); 8]);
    assert_eq!((options.batch_per_host(), options.min_iteration_duration()), (Some(5), seconds(7)));
    assert_eq!(options.user_agent.as_deref(), Some("me"));
    assert_eq!(options.trend_statistics(), [TrendStatistic::Avg, TrendStatistic::Max]);
    assert_eq!(options.summary_time_unit, Some(TimeUnit::Milliseconds));
    assert_eq!(options.tags, Some([pair("a", "b=c"), pair("d", "e")].into()));
    let (networks, names) = (options.blacklist_ips.unwrap(), options.block_hostnames.unwrap());
    assert!(networks[1].contains("11.1.1.1".parse().unwrap()) && names[0].matches("x.a.com"));
    assert!(options.dns.unwrap().ttl.is_some() && options.system_tags.unwrap().has("url"));
}

#[test]
fn one_version_of_tls_is_the_lowest_and_the_highest() {
    let versions = |value| {
        let versions = of_script(json!({"tlsVersion": value})).unwrap().options.tls_version.unwrap();
        (versions.min, versions.max)
    };
    assert_eq!(versions(json!("tls1.2")), (Some(TlsVersion::Tls12), Some(TlsVersion::Tls12)));
    assert_eq!(versions(json!({"min": "tls1.3"})), (Some(TlsVersion::Tls13), None));
}

#[test]
fn what_is_null_or_empty_is_not_set() {
    let unset = json!({"vus": "", "duration": null, "tlsVersion": "", "summaryTimeUnit": "",
        "executionSegmentSequence": "", "tags": {"a": null}, "thresholds": {"http_reqs": null}, "stages": [null]});
    let options = of_script(unset).unwrap().options;
    assert_eq!((options.vus, options.duration, options.tls_version.is_none()), (None, None, true));
    assert_eq!((options.summary_time_unit, options.execution_segment_sequence), (None, None));
    assert_eq!(options.tags, Some([("a".to_owned(), String::new())].into()));
    assert_eq!(options.thresholds, Some([("http_reqs".to_owned(), Vec::new())].into()));
    assert_eq!(options.stages, Some(Vec::new()));
}
