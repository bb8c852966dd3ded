use std::time::Duration;

use workload::model::{Arrivals, Executor, Flow, Scenario};

use super::*;

/// A directory with space for the folded names of one scenario and of the setup, which comes after it.
fn directory() -> Directory {
    let scenario = Scenario {
        name: "s".to_owned(),
        executor: Executor::ConstantVus { vus: 1, duration: Duration::ZERO },
        start: Duration::ZERO,
        preallocated_vus: 0,
        max_vus: 1,
        arrivals: Arrivals::Even,
        graceful_stop: Duration::ZERO,
        tags: BTreeMap::new(),
        setup: Vec::new(),
        flow: Flow::Sequence(Vec::new()),
    };
    let workload = Workload { scenarios: vec![scenario], ..Workload::named("") };
    Directory::new(Vec::new(), Vec::new(), &workload, BTreeMap::new())
}

#[test]
fn names_past_the_limit_are_one_endpoint_in_each_scenario_and_are_counted_once() {
    let (directory, mut first, mut second) = (directory(), MetNames::default(), MetNames::default());
    let all: Vec<EndpointIndex> =
        (0..300).map(|n| first.endpoint(&directory, ScenarioIndex(0), &format!("/{n}"))).collect();
    for n in (0..300).rev() {
        assert_eq!(second.endpoint(&directory, ScenarioIndex(0), &format!("/{n}")), all[n]);
    }
    let name = |index: EndpointIndex| directory.endpoint(index).name.to_string();
    assert_eq!((name(all[0]), name(all[255])), ("/0".to_owned(), "/255".to_owned()));
    assert!(all[256..].iter().all(|index| name(*index) == OTHERS && *index == all[256]));
    assert_eq!(directory.folded_endpoints(), 44);
    let elsewhere = first.endpoint(&directory, ScenarioIndex(1), "/0");
    assert_eq!(directory.endpoint(elsewhere).scenario, ScenarioIndex(1));
    assert_eq!((name(elsewhere), directory.folded_endpoints()), (OTHERS.to_owned(), 45));
}

#[test]
fn names_past_what_a_loop_remembers_take_no_lock() {
    let (directory, mut met) = (directory(), MetNames::default());
    let mut meet = |name: usize| {
        let name = format!("/{name}");
        (met.endpoint(&directory, ScenarioIndex(0), &name), met.check(&directory, &name))
    };
    let others = (0..MAX_NAMES + MAX_FOLDED).map(&mut meet).last().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let growing = directory.growth();
        scope.spawn(move || sender.send(meet(MAX_NAMES + MAX_FOLDED)));
        let met = receiver.recv_timeout(Duration::from_secs(20));
        drop(growing);
        assert_eq!(met, Ok(others));
    });
}

#[test]
fn loops_that_meet_names_at_once_agree_on_their_indexes() {
    let directory = directory();
    let meet = || {
        let mut met = MetNames::default();
        (0..400).map(|n| met.endpoint(&directory, ScenarioIndex(n % 2), &format!("{n}")).0).collect()
    };
    let all: Vec<Vec<usize>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(meet)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|one| *one == all[0]));
    assert_eq!(directory.endpoints.iter().count(), MAX_NAMES + 2);
}

#[test]
fn an_origin_has_one_index_however_it_is_written_and_there_is_a_limit() {
    let (directory, mut met) = (directory(), MetNames::default());
    let mut origin =
        |url: &str| met.origin(&directory, OriginName { url, kind: OriginKind::Http, tls: None });
    let first = origin("http://127.0.0.1").unwrap();
    assert_eq!(origin("http://127.0.0.1:80/"), Ok(first));
    assert_ne!(origin("https://127.0.0.1:80"), Ok(first));
    assert!(matches!(origin("ftp://127.0.0.1"), Err(UnusableOrigin::Malformed(_))));
    let too_many = (1..5_000).find_map(|port| origin(&format!("http://127.0.0.1:{}", 1_000 + port)).err());
    let too_many = too_many.unwrap().to_string();
    assert!(too_many.contains("more than 4096 servers"), "{too_many}");
    assert_eq!((directory.origins.iter().count(), directory.refused_origins()), (MAX_ORIGINS, 1));
}

/// How often each endpoint was given, by name.
fn endpoints_of(urls: impl Iterator<Item = String>, directory: &Directory) -> BTreeMap<String, usize> {
    let mut met = MetNames::default();
    let mut all = BTreeMap::new();
    for url in urls {
        let index = met.url(directory, ScenarioIndex(0), &url);
        *all.entry(directory.endpoint(index).name.to_string()).or_default() += 1;
    }
    all
}

#[test]
fn urls_of_a_pattern_share_an_endpoint_before_the_names_are_used_up() {
    let directory = directory();
    let urls = (0..900).flat_map(|n| {
        [format!("http://a/items/{n}"), format!("http://a/users/{n}/orders"), "http://a/post".to_owned()]
    });
    let all = endpoints_of(urls, &directory);
    let own = |begin: &str| all.keys().filter(|name| name.starts_with(begin) && !name.contains('…')).count();
    assert_eq!((own("http://a/items/"), own("http://a/users/")), (64, 63));
    assert_eq!(all["http://a/items/{…}"], 900 - 64);
    assert_eq!(all["http://a/users/{…}/orders"], 900 - 63);
    assert_eq!((all["http://a/post"], directory.folded_endpoints()), (900, 0));
    // What another loop met first it may find by its pattern or by itself.
    let again = endpoints_of((0..900).map(|n| format!("http://a/items/{n}")), &directory);
    assert_eq!((again["http://a/items/7"], again["http://a/items/{…}"]), (1, 900 - 64));
}

#[test]
fn a_name_that_a_script_gives_is_of_no_pattern() {
    let (directory, mut met) = (directory(), MetNames::default());
    endpoints_of((0..200).map(|n| format!("http://a/items/{n}")), &directory);
    let given = met.endpoint(&directory, ScenarioIndex(0), "http://a/items/199");
    assert_eq!(&*directory.endpoint(given).name, "http://a/items/199");
}

#[test]
fn few_urls_of_a_pattern_among_many_names_keep_their_own() {
    let directory = directory();
    let words = (0..200).map(|n| format!("http://a{n}/x"));
    let all = endpoints_of(words.chain((0..TOLD_APART).map(|n| format!("http://b/{n}"))), &directory);
    assert_eq!(all.len(), 200 + TOLD_APART);
}
