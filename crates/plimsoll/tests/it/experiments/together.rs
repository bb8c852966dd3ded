//! Both arms at the same moment: what each got is read in the logs of the targets.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use peers::go;
use testbed::{Behaviour, Served, Target};

use super::{GATE, metric};
use crate::command::{TestFolder, closed, open};

/// Windows of two seconds with 50 arrivals a second of both arms together, each with the number of its arrival in its path.
fn experiment(addresses: [SocketAddr; 2], arrivals: &str, more: &str) -> TestFolder {
    let plan = open(addresses[0], 2)
        .replace("/x", "/x/${number.id}")
        .replace("max_vus = 100\n", &format!("max_vus = 100\narrivals = \"{arrivals}\"\n"));
    let folder =
        TestFolder::new(&(plan + "[data.number]\ngenerate = \"{1..10000}\"\npick = \"sequential\"\n"));
    let [a, b] = addresses.map(|address| format!("targets = {{ api = \"http://{address}\" }}"));
    folder.write(
        "ex.toml",
        format!(
            "version = 1\nplan = \"plan.toml\"\n[arms.a]\n{a}\n[arms.b]\n{b}\n[design]\nlooks = [6]\n{more}\n{GATE}"
        ),
    );
    folder
}

/// When each arrival was received, by its number from 1, window by window.
fn windows(target: &Target) -> Vec<BTreeMap<u64, u64>> {
    let mut windows: Vec<BTreeMap<u64, u64>> = Vec::new();
    let mut log: Vec<Served> = target.log();
    log.sort_by_key(|served| served.received_ns);
    let mut last = 0;
    for served in log {
        // Between windows arms are judged and made ready; within one the next arrival is at most 60 ms away by the plan.
        let number = served.path.rsplit('/').next().unwrap().parse().unwrap();
        if windows.is_empty() || (number <= 2 && last > 10) {
            windows.push(BTreeMap::new());
        }
        let is_known = windows.last_mut().unwrap().insert(number, served.received_ns).is_some();
        assert!(!is_known, "arrival {number} of a window came twice");
        last = number;
    }
    windows
}

#[test]
fn each_of_two_arrivals_goes_to_one_arm_and_the_other_to_the_other() {
    let [a, b] = [0; 2].map(|_| testbed::http(Behaviour::ok()).unwrap());
    let folder = experiment([a.addr(), b.addr()], "even", "together = \"requests\"");
    let ran = folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--quiet", "--json", "r.json"]);
    ran.stderr_contains(&["each arrival goes to one of them", "pair 1 of 6: A and B"]);
    let [of_a, of_b] = [&a, &b].map(windows);
    assert_eq!((of_a.len(), of_b.len()), (6, 6));
    let mut splits = BTreeMap::new();
    for (a, b) in of_a.iter().zip(&of_b) {
        *splits.entry((a.len(), b.len())).or_insert(0) += 1;
        for window in [a, b] {
            let numbers: Vec<u64> = window.keys().copied().collect();
            assert_eq!(numbers, (1..=window.len() as u64).collect::<Vec<_>>(), "none is left out");
        }
        if a.len() == b.len() {
            let a_is_first = a.values().zip(b.values()).filter(|(a, b)| a < b).count();
            // A coin falls on one side in fewer than 10 of 50 once in a million windows.
            assert!((10..=40).contains(&a_is_first), "{a_is_first}");
        }
        let [first, last] = [a, b].map(|window| (window[&1], window[&(window.len() as u64)]));
        assert!(first.0 < last.1 && last.0 < first.1, "both have the same seconds");
    }
    assert_eq!(splits, BTreeMap::from([((40, 60), 1), ((50, 50), 4), ((60, 40), 1)]));
    let report = folder.json("r.json");
    assert_eq!(report["judgement"]["pairs"], 6);
    let again = folder.plimsoll(&["ab", "--judge", "out.ab", "--json", "again.json"]);
    assert_eq!(again.code, ran.code);
    assert_eq!(folder.json("again.json")["judgement"], report["judgement"]);
}

#[test]
fn with_the_full_load_each_arm_gets_what_the_plan_says() {
    let [a, b] = [0; 2].map(|_| testbed::http(Behaviour::ok()).unwrap());
    let folder = experiment([a.addr(), b.addr()], "poisson", "share = \"full\"");
    folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--quiet"]).stderr_contains(&["pair 6 of 6: A and B"]);
    let [of_a, of_b] = [&a, &b].map(windows);
    assert_eq!((of_a.len(), of_b.len()), (6, 6));
    for (a, b) in of_a.iter().zip(&of_b) {
        let both = a.len() + b.len();
        // 200 are expected, with a standard deviation of 14.
        assert!((130..=270).contains(&both), "{both}");
        let shares =
            [[2, 3], [1, 1], [3, 2]].map(|[of_a, of_b]| a.len().abs_diff(both * of_a / (of_a + of_b)));
        assert!(shares.iter().any(|apart| *apart <= 3), "{} and {}", a.len(), b.len());
    }
}

#[test]
fn what_cannot_run_at_the_same_moment_is_refused_before_anything_is_sent() {
    let [a, b] = [0; 2].map(|_| testbed::http(Behaviour::ok()).unwrap());
    let refused = |folder: &TestFolder, message: &str| {
        folder.plimsoll(&["ab", "ex.toml", "--quiet"]).exits_with(2).stderr_contains(&[message]);
    };
    let together = "together = \"requests\"";
    let same = experiment([a.addr(); 2], "even", together);
    refused(&same, &format!("both arms have target `api` at {}, and two versions", a.addr()));
    let shared = experiment([a.addr(), b.addr()], "even", together);
    let text = shared.read("ex.toml");
    let env = "env = { DATABASE_URL = \"postgres://me@127.0.0.1:1/x\" }\n";
    shared.write("ex.toml", text.replace("targets", &format!("{env}targets")));
    refused(&shared, "both arms use the same store (DATABASE_URL), through which they disturb each other");
    let observed = experiment([a.addr(), b.addr()], "even", together);
    let page = "http://127.0.0.1:9100/metrics";
    let observe = format!(
        "\n[targets.api.observe]\nprometheus = {{ url = \"{page}\", keep = [\"go_*\"] }}\n[[scenarios]]"
    );
    observed.write("plan.toml", observed.read("plan.toml").replacen("\n[[scenarios]]", &observe, 1));
    refused(&observed, &format!("target `api` is observed at {page} in both arms"));
    let closed_loop = experiment([a.addr(), b.addr()], "even", together);
    closed_loop.write("plan.toml", closed(a.addr(), 1).replace("/x", "/y"));
    refused(&closed_loop, "needs a plan whose scenarios all have a rate");
    for (asked, message) in [
        ("together = \"yes\"", "`together` takes `\"requests\"`"),
        ("probe = \"yes\"", "`probe` takes `\"auto\"`"),
        ("together = \"requests\"\nprobe = \"on\"", "`probe = \"on\"` is for arms that run in turn"),
        ("share = \"third\"", "`share` takes `\"half\"`"),
        ("[sides.one]\ncpus = \"0\"\n[sides.two]", "both sides have as many `cpus`, or none"),
        ("[sides.one]\ncpus = \"x\"\n[sides.two]", "`x` is not a list of processors such as"),
        ("[sides.one]", "`sides` needs `two`"),
    ] {
        refused(&experiment([a.addr(), b.addr()], "even", asked), message);
    }
    assert_eq!(a.requests() + b.requests(), 0);
}

#[test]
fn arms_that_run_already_run_in_turn_unless_it_is_asked_for() {
    let [a, b] = [0; 2].map(|_| testbed::http(Behaviour::ok()).unwrap());
    let folder = experiment([a.addr(), b.addr()], "even", "");
    let ran = folder.plimsoll(&["ab", "ex.toml", "--looks", "5", "--quiet", "--json", "r.json"]);
    ran.stderr_contains(&["pair 1 of 5: A\n", "pair 1 of 5: B\n"]);
    let report = folder.json("r.json");
    assert!(metric(&report, "p50")["verdict"].is_string());
    assert_eq!((a.requests(), b.requests()), (500, 500));
}

/// A service that has ended: a free address, and a program that listens there until its input ends.
fn service() -> go::Target {
    let mut target = go::Target::start(go::Settings::default()).unwrap();
    target.end();
    target
}

#[test]
fn started_versions_run_at_the_same_moment_and_a_window_in_which_one_ends_is_made_again() {
    let services = [service(), service()];
    let ([a, b], program) = (services.each_ref().map(go::Target::address), services[0].binary());
    let program = program.display();
    let folder = experiment([a, b], "even", "seed = 3");
    let text = folder.read("ex.toml");
    let of_a = format!("[arms.a]\nstart = \"sleep 600 | {program} -listen {a}\"\n");
    let of_b = format!(
        "[arms.b]\nstart = \"echo >> starts; test $(wc -l < starts) -eq 2 && long=1; sleep ${{long:-600}} | {program} -listen {b}\"\n"
    );
    folder.write("ex.toml", text.replace("[arms.a]\n", &of_a).replace("[arms.b]\n", &of_b));
    let ran = folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--quiet"]);
    ran.stderr_contains(&[
        "both versions run at the same moment",
        "the command of arm b of pair 2 ended under load",
        "tried again (1 of 3)",
        "pair 6 of 6: A and B",
    ]);
    ran.stdout_contains(&["6 pairs", "window-repeated", "In 1 of 6 pairs, first in pair 2:", "NOT_SHOWN"]);
    assert_eq!(folder.read("starts").lines().count(), 7, "both are started anew for each window");
}

#[test]
fn two_versions_that_run_already_are_compared_by_their_urls() {
    let fast = testbed::http(Behaviour::after(super::SLOW)).unwrap();
    let slow = testbed::http(Behaviour::after(2 * super::SLOW)).unwrap();
    let folder = TestFolder::new("");
    let [a, b] = [&fast, &slow].map(|target| format!("http://{}/list", target.addr()));
    let ran =
        folder.plimsoll(&["ab", &a, &b, "--slot", "1s", "--looks", "5", "--quiet", "--gate", "p50(get)"]);
    ran.exits_with(3).stdout_contains(&["REGRESSED", "is about these two processes."]);
    assert!(fast.log().iter().all(|served| served.path == "/list"));
    // The steps are sent once before each window.
    assert_eq!((fast.requests(), slow.requests()), (255, 255));
    let same = folder.plimsoll(&["ab", &a, &a, "--slot", "1s", "--quiet"]);
    same.exits_with(2).stderr_contains(&["both arms have target `service`"]);
    let other = format!("http://{}/other", slow.addr());
    folder
        .plimsoll(&["ab", &a, &other])
        .exits_with(2)
        .stderr_contains(&["their paths differ: `/list` and `/other`"]);
}

/// The experiment of two such services, started by itself, with a margin of error rates that few requests can show.
fn of_services(services: [&go::Target; 2], more: &str) -> TestFolder {
    let [a, b] = services.map(go::Target::address);
    let folder = experiment([a, b], "even", more);
    let mut text = folder.read("ex.toml").replace(GATE, "[gate]\np50 = \"p50(get)\"\n");
    text.push_str("errors = { of = \"error_rate(all)\", margin = \"50%\" }\n");
    for (arm, service) in ["a", "b"].iter().zip(services) {
        let (program, at) = (service.binary().display().to_string(), service.address());
        let start = format!("[arms.{arm}]\nstart = \"sleep 600 | {program} -listen {at}\"\n");
        text = text.replace(&format!("[arms.{arm}]\n"), &start);
    }
    folder.write("ex.toml", text);
    folder
}

#[test]
fn what_is_not_shown_at_the_same_moment_is_confirmed_in_turn() {
    let services = [service(), service()];
    let folder = of_services(services.each_ref(), "seed = 4\nconfirm = true");
    folder.write("ex.toml", folder.read("ex.toml").replace("looks = [6]", "looks = [5]"));
    let ran = folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--quiet", "--json", "r.json"]);
    ran.stderr_contains(&[
        "up to 5 pairs in turn of 8 s",
        "\npair 5 of 5: A and B",
        "\nconfirming pair 1 of 5: ",
        "\nconfirming pair 5 of 5: A\n",
        "\nconfirming pair 5 of 5: B\n",
    ]);
    let report = folder.json("r.json");
    assert_eq!(report["runs"].as_array().map(Vec::len), Some(10), "{}", ran.stdout);
    let p50 = metric(&report, "p50");
    assert_ne!(p50["verdict"], "NOT_SHOWN", "{p50}");
    assert!(p50["because"].as_str().unwrap().starts_with("In turn: "), "{p50}");
    // A pair that a busy machine perturbed has no value.
    let values: Vec<_> = p50["values"].as_array().unwrap().iter().map(|pair| pair[0].is_number()).collect();
    let (windows, in_turn) = values.split_at(5);
    assert!(
        !windows.contains(&true) && in_turn.contains(&true),
        "the windows, then the pairs in turn: {p50}"
    );
    let again = folder.plimsoll(&["ab", "--judge", "out.ab", "--json", "again.json"]);
    assert_eq!(again.code, ran.code, "{}", again.stdout);
    assert_eq!(folder.json("again.json")["judgement"], report["judgement"]);
}

#[test]
fn each_version_is_at_either_side_and_on_its_processors_as_often() {
    let services = [service(), service()];
    let folder = of_services(services.each_ref(), "seed = 5");
    let has_two = std::thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
    let cpus = if has_two { ["0", "1"] } else { ["0", "0"] };
    let program = services[0].binary().display().to_string();
    let arm = |name: &str| {
        format!(
            "[arms.{name}]\nstart = \"grep Cpus_allowed_list /proc/self/status >> cpus-{name}; sleep 600 | {program} -listen $AT\"\n"
        )
    };
    let side = |name: &str, at: usize| {
        let address = services[at].address();
        format!(
            "[sides.{name}]\nenv = {{ AT = \"{address}\" }}\ntargets = {{ api = \"http://{address}\" }}\ncpus = \"{}\"\n",
            cpus[at]
        )
    };
    let text = folder.read("ex.toml");
    let (_, design) = text.split_once("[design]").unwrap();
    let head = "version = 1\nplan = \"plan.toml\"\n";
    let sides = side("one", 0) + &side("two", 1);
    folder.write("ex.toml", format!("{head}{}{}{sides}[design]{design}", arm("a"), arm("b")));
    folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--quiet"]).stderr_contains(&["pair 6 of 6: A and B"]);
    let count = |name: &str| {
        let mut counted = BTreeMap::new();
        for line in folder.read(&format!("cpus-{name}")).lines() {
            *counted.entry(line.rsplit('\t').next().unwrap().to_owned()).or_insert(0) += 1;
        }
        counted
    };
    let mut expected = BTreeMap::new();
    for cpu in cpus {
        *expected.entry(cpu.to_owned()).or_insert(0) += 3;
    }
    assert_eq!((count("a"), count("b")), (expected.clone(), expected), "the kernel says on which it may run");
}

#[test]
fn windows_of_varied_load_have_less_and_more_as_often() {
    let [a, b] = [0; 2].map(|_| testbed::http(Behaviour::ok()).unwrap());
    let folder = experiment([a.addr(), b.addr()], "even", "vary_load = true");
    folder.plimsoll(&["ab", "ex.toml", "-o", "out.ab", "--quiet"]).stderr_contains(&["% of the load"]);
    let [of_a, of_b] = [&a, &b].map(windows);
    let mut loads: Vec<usize> = of_a.iter().zip(&of_b).map(|(a, b)| a.len() + b.len()).collect();
    loads.sort_unstable();
    assert_eq!(loads, [90, 90, 90, 110, 110, 110]);
}

#[test]
fn lines_of_progress_say_which_version_they_are_about() {
    let targets = [0; 2].map(|_| testbed::http(Behaviour::ok()).unwrap());
    let [a, b] = targets.each_ref().map(|target| format!("http://{}/list", target.addr()));
    let ran =
        TestFolder::new("").plimsoll(&["ab", &a, &b, "--slot", "6s", "--looks", "5", "--gate", "p50(get)"]);
    ran.stderr_contains(&["\nA · 0:05 / 0:06 · ", "\nB · 0:05 / 0:06 · "]);
}
