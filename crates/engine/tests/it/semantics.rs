//! HTTP beyond one request and its response: redirects, cookies, basic authorization, coded bodies.

use evidence::{Metric, Outcome};
use testbed::{Behaviour, CannedResponse, Served, Site, Target};
use workload::{Expect, Extract, ExtractFrom, HttpOptions, Request, Step, Template};

use crate::accounting::Accounting;
use crate::drive::{FinishedRun, drive};
use crate::plan::{Plan, Tuned, WEB, at_rate, closed, get, ms, request, scenario, sequence};

const COUNT: u64 = 10;

fn with(step: Step, change: impl FnOnce(&mut HttpOptions)) -> Step {
    let mut step = step;
    if let Request::Http { options, .. } = &mut step.request {
        change(options);
    }
    step
}

fn following(step: Step, redirects: u32) -> Step {
    with(step, |options| options.redirects = redirects)
}

fn redirect(status: u16, location: &str) -> Behaviour {
    CannedResponse::new(status).header("location", location).into()
}

fn run(site: Site<Behaviour>, step: Step) -> (FinishedRun, Vec<Served>) {
    let target = testbed::http(site).unwrap();
    let ran = drive(
        Plan::of(target.addr()).scenario(scenario("s", at_rate(50.0, ms(200)), sequence([step]))).compile(),
    );
    ran.assert_sound();
    (ran, target.log())
}

fn outcome(site: Site<Behaviour>, step: Step) -> Outcome {
    let name = step.name.clone();
    let (ran, _) = run(site, step);
    let outcomes = ran.assert_sound().outcomes(&name);
    assert_eq!(outcomes.values().sum::<u64>(), COUNT, "{outcomes:?}");
    *outcomes.first_key_value().unwrap().0
}

#[test]
fn redirects_are_followed_within_one_request() {
    let site = Site::new()
        .at("/start", CannedResponse::new(302).header("location", "sub/next?x=1").after(ms(30)).into())
        .at("/sub/next", redirect(307, "/end"))
        .at("/end", CannedResponse::new(200).body("there").after(ms(30)).into());
    let step = Step {
        expect: Expect { body_contains: vec![Template::literal("there")], ..Expect::default() },
        ..following(get("start", "/start"), 2)
    };
    let (ran, log) = run(site, step);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("start"), [(Outcome::Ok, COUNT)].into());
    assert_eq!((run.all(Metric::Requests), log.len() as u64), (COUNT, 3 * COUNT));
    let times = run.times(Metric::ResponseTime, |_| true);
    assert!(times.quantile(0.0).finite_us().unwrap() >= 60_000.0, "both waits belong to the one request");
    assert!(log.iter().filter(|s| s.path == "/sub/next").all(|s| s.query == "x=1"));
}

#[test]
fn a_redirect_that_is_not_followed_is_the_response() {
    let site = || Site::new().at("/start", redirect(302, "/start"));
    assert_eq!(outcome(site(), get("start", "/start")), Outcome::Ok);
    assert_eq!(outcome(site(), following(get("start", "/start"), 3)), Outcome::Check);
    let elsewhere = Site::new().at("/start", redirect(302, "http://127.0.0.1:9/"));
    assert_eq!(outcome(elsewhere, following(get("start", "/start"), 3)), Outcome::Check);
    let nowhere = Site::new().at("/start", CannedResponse::new(302).into());
    assert_eq!(outcome(nowhere, following(get("start", "/start"), 3)), Outcome::Ok);
}

#[test]
fn the_method_of_a_redirect_depends_on_the_status() {
    let sent = |status: u16| {
        let site = Site::new().at("/start", redirect(status, "/end")).otherwise(Behaviour::ok());
        let (_, log) = run(site, following(request("POST", "start", "/start").body("text"), 1));
        let end = log.into_iter().find(|served| served.path == "/end").unwrap();
        (end.method, String::from_utf8(end.body).unwrap())
    };
    let kept = ("POST".to_owned(), "text".to_owned());
    let changed = ("GET".to_owned(), String::new());
    assert_eq!([301, 302, 303].map(sent), [changed.clone(), changed.clone(), changed]);
    assert_eq!([307, 308].map(sent), [kept.clone(), kept]);
}

#[test]
fn authorization_is_not_sent_to_other_targets() {
    let other = testbed::http(Behaviour::ok()).unwrap();
    let site = Site::new().at("/start", redirect(302, &format!("http://{}/x", other.addr())));
    let target = testbed::http(site).unwrap();
    let auth = |options: &mut HttpOptions| options.basic_auth = Some(Template::literal("user:pa:ss"));
    let step = with(following(get("start", "/start"), 1), auth);
    let plan = Plan::of(target.addr())
        .http("other", other.addr())
        .scenario(scenario("s", at_rate(50.0, ms(200)), sequence([step])))
        .scenario(scenario("o", at_rate(5.0, ms(200)), sequence([get("own", "/own").at("other")])));
    let ran = drive(plan.compile());
    assert_eq!(ran.assert_sound().outcomes("start"), [(Outcome::Ok, COUNT)].into());
    assert!(target.log().iter().all(|s| s.header("authorization") == Some("Basic dXNlcjpwYTpzcw==")));
    let moved: Vec<_> = other.log().into_iter().filter(|served| served.path == "/x").collect();
    assert_eq!(moved.len() as u64, COUNT);
    assert!(moved.iter().all(|served| served.header("authorization").is_none()));
}

#[test]
fn a_redirect_reaches_every_target_of_the_plan_also_one_that_no_step_uses() {
    let other = testbed::http(Behaviour::ok()).unwrap();
    let by_name = format!("http://LOCALHOST:{}/x", other.addr().port());
    let site = Site::new().at("/start", redirect(302, &by_name));
    let target = testbed::http(site).unwrap();
    let mut plan = Plan::of(target.addr()).http("unused", other.addr());
    let http = plan.workload.targets.get_mut("unused").unwrap().http.as_mut().unwrap();
    http.host = "localhost".to_owned();
    let step = following(get("start", "/start"), 1);
    let ran = drive(plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence([step]))).compile());
    assert_eq!(ran.assert_sound().outcomes("start"), [(Outcome::Ok, COUNT)].into());
    assert_eq!((target.requests(), other.requests()), (COUNT, COUNT));
    // It waited for the address after its first byte was sent.
    assert_eq!(ran.run.all(Metric::ResolvingNs), 0);
}

#[test]
fn secrets_are_not_sent_to_other_origins() {
    let headers = [
        ("x-api-key", "literal"),
        ("cookie", "sid=1"),
        ("x-declared", "literal"),
        ("x-env", "a ${env.TOKEN}"),
        ("x-extracted", "${sid}"),
        ("x-plain", "kept-${iteration}"),
    ];
    let other = testbed::http(Behaviour::ok()).unwrap();
    let elsewhere = format!("http://{}/x", other.addr());
    let site = Site::new().at("/start", redirect(302, "/next")).at("/next", redirect(302, &elsewhere));
    let target = testbed::http(site).unwrap();
    let mut step = following(get("start", "/start"), 2);
    if let Request::Http { headers: all, .. } = &mut step.request {
        let parsed = headers.map(|(name, value)| (name.to_owned(), Template::parse(value).unwrap()));
        all.extend(parsed);
    }
    let mut plan = Plan::of(target.addr()).http("other", other.addr());
    // The same origin under another name is no other origin.
    plan = plan.http("alias", target.addr());
    plan.workload.secrets = vec!["X-Declared".to_owned()];
    plan = plan
        .scenario(scenario("a", at_rate(5.0, ms(200)), sequence([get("first", "/first").at("alias")])))
        .scenario(scenario("o", at_rate(5.0, ms(200)), sequence([get("own", "/own").at("other")])))
        .scenario(scenario("s", at_rate(50.0, ms(200)), sequence([step])));
    let ran = drive(plan.compile_with(&[("TOKEN", "hush-hush")]));
    assert_eq!(ran.assert_sound().outcomes("start"), [(Outcome::Ok, COUNT)].into());
    let names = |served: &Served| {
        headers
            .map(|(name, _)| name)
            .into_iter()
            .filter(|name| served.header(name).is_some())
            .collect::<Vec<_>>()
    };
    for served in target.log().iter().filter(|served| served.path == "/next") {
        assert_eq!(names(served), headers.map(|(name, _)| name), "the step's own cookie too");
    }
    let moved: Vec<_> = other.log().into_iter().filter(|served| served.path == "/x").collect();
    assert_eq!(moved.len() as u64, COUNT);
    moved.iter().for_each(|served| assert_eq!(names(served), ["x-plain"]));
}

/// Whether the plan keeps cookies.
#[derive(Clone, Copy, PartialEq)]
enum Cookies {
    Kept,
    Ignored,
}

fn run_with_cookies(target: &Target, cookies: Cookies) -> Vec<Served> {
    let mut plan = Plan::of(target.addr());
    plan.workload.targets.get_mut(WEB).unwrap().cookies = cookies == Cookies::Kept;
    let steps = [following(get("login", "/login"), 1), get("shop", "/shop")];
    let ran = drive(plan.scenario(scenario("s", closed(2, ms(200)), sequence(steps))).compile());
    ran.assert_sound();
    target.log()
}

#[test]
fn each_virtual_user_keeps_its_cookies() {
    let site = || {
        let login = CannedResponse::new(303)
            .header("location", "/home")
            .header("set-cookie", "id=7; Path=/; HttpOnly");
        testbed::http(Site::new().at("/login", login.into()).otherwise(Behaviour::ok())).unwrap()
    };
    let log = run_with_cookies(&site(), Cookies::Kept);
    let after: Vec<_> = log.iter().filter(|served| served.path != "/login").collect();
    let is_sent = |served: &&Served| served.header("cookie") == Some("id=7");
    assert!(!after.is_empty() && after.iter().all(is_sent), "{:?}", &after[..after.len().min(3)]);
    let first = log.iter().filter(|s| s.path == "/login" && s.header("cookie").is_none()).count();
    assert_eq!(first, 2, "each of the two logs in once without a cookie");
    let log = run_with_cookies(&site(), Cookies::Ignored);
    assert!(log.iter().all(|served| served.header("cookie").is_none()));
}

#[test]
fn a_steps_own_cookies_and_those_of_the_target_are_one_header() {
    let login = CannedResponse::new(303)
        .header("location", "/home")
        .header("set-cookie", "id=7; Path=/; HttpOnly")
        .header("set-cookie", "theme=dark; Path=/home");
    let site = Site::new().at("/login", login.into()).otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let mut plan = Plan::of(target.addr());
    plan.workload.targets.get_mut(WEB).unwrap().fresh_cookies = true;
    plan.workload.targets.get_mut(WEB).unwrap().cookies = true;
    let own = |step: Step, cookies: &str| {
        let mut step = step;
        if let Request::Http { headers, .. } = &mut step.request {
            headers.push(("cookie".to_owned(), Template::parse(cookies).unwrap()));
        }
        step
    };
    let steps = [
        own(following(get("login", "/login"), 1), "seen=1; id=${env.OLD}"),
        own(get("shop", "/shop"), "seen=1;id=${env.OLD}"),
        get("bare", "/bare"),
    ];
    let plan = plan.scenario(scenario("s", closed(1, ms(100)), sequence(steps)));
    drive(plan.compile_with(&[("OLD", "hush-hush")])).assert_sound();
    for served in target.log() {
        let cookies = served.headers.iter().filter(|(name, _)| name == "cookie");
        let sent: Vec<&str> = cookies.map(|(_, value)| value.as_str()).collect();
        let expected = match served.path.as_str() {
            "/login" => "seen=1; id=hush-hush",
            "/home" => "seen=1; theme=dark; id=7",
            "/shop" => "seen=1; id=7",
            _ => "id=7",
        };
        assert_eq!(sent, [expected], "{}", served.path);
    }
}

#[test]
fn an_iteration_begins_without_the_cookies_of_the_one_before_where_the_plan_says_so() {
    let site = || {
        let login = CannedResponse::new(200).header("set-cookie", "id=7; Path=/; HttpOnly");
        testbed::http(Site::new().at("/login", login.into()).otherwise(Behaviour::ok())).unwrap()
    };
    let log = |fresh: bool| {
        let target = site();
        let mut plan = Plan::of(target.addr());
        let web = plan.workload.targets.get_mut(WEB).unwrap();
        (web.cookies, web.fresh_cookies) = (true, fresh);
        let steps = [get("login", "/login"), get("shop", "/shop")];
        drive(plan.scenario(scenario("s", closed(1, ms(100)), sequence(steps))).compile()).assert_sound();
        target.log()
    };
    let sent = |log: &[Served], path: &str| {
        let of = log.iter().filter(|served| served.path == path);
        of.map(|served| served.header("cookie").is_some()).collect::<Vec<_>>()
    };
    let fresh = log(true);
    assert!(sent(&fresh, "/login").len() > 1 && !sent(&fresh, "/login").contains(&true));
    assert!(!sent(&fresh, "/shop").contains(&false));
    let kept = log(false);
    assert_eq!(sent(&kept, "/login").iter().filter(|has| !**has).count(), 1, "only the first has none");
}

#[test]
fn a_value_of_a_header_is_taken_by_a_regular_expression_and_sent_percent_encoded() {
    let first = CannedResponse::new(303)
        .header("set-cookie", "other=1")
        .header("set-cookie", "csrf=a+b/c==; Path=/")
        .header("location", "http://other/orders/17?x=1");
    let target = testbed::http(Site::new().at("/first", first.into()).otherwise(Behaviour::ok())).unwrap();
    let mut begin = get("first", "/first");
    for (name, header, regex) in
        [("token", "set-cookie", "csrf=([^;]*)"), ("id", "location", "/orders/([^/?#]+)")]
    {
        let from = ExtractFrom::HeaderRegex { header: header.to_owned(), regex: regex.to_owned() };
        begin.extract.push(Extract { name: name.to_owned(), from });
    }
    let steps = [begin, get("second", "/orders/${id}?csrf=${token | url}")];
    drive(Plan::of(target.addr()).scenario(scenario("s", closed(1, ms(50)), sequence(steps))).compile())
        .assert_sound();
    let second = target.log().into_iter().find(|served| served.path != "/first").unwrap();
    assert_eq!((second.path.as_str(), second.query.as_str()), ("/orders/17", "csrf=a%2Bb%2Fc%3D%3D"));
}

#[test]
fn coded_bodies_are_decoded_for_checks() {
    let mut zipped = Vec::new();
    wire::coding::gzip(br#"{"id": 7}"#, &mut zipped);
    let answer = |body: &[u8]| {
        let answer = CannedResponse::new(200).header("content-encoding", "gzip").body(body);
        Site::new().at("/x", answer.into())
    };
    let expect = Expect { json: vec![("$.id".to_owned(), 7.into())], ..Expect::default() };
    let checked = Step { expect, ..get("x", "/x") };
    assert_eq!(outcome(answer(&zipped), checked.clone()), Outcome::Ok);
    assert_eq!(outcome(answer(&zipped[..20]), checked.clone()), Outcome::Protocol);
    assert_eq!(outcome(answer(b"no gzip"), checked), Outcome::Protocol);
    assert_eq!(outcome(answer(b"no gzip"), get("x", "/x")), Outcome::Ok, "no check reads the body");
}

#[test]
fn bodies_are_sent_compressed_where_the_plan_asks_for_it() {
    for body in ["always the same", "number ${iteration}"] {
        let step = with(request("POST", "x", "/x").body(body), |options| options.compress = true);
        let (_, log) = run(Site::new().otherwise(Behaviour::ok()), step);
        for (nth, served) in log.iter().enumerate() {
            assert_eq!(served.header("content-encoding"), Some("gzip"));
            let plain = wire::coding::decode(b"gzip", &served.body, 1_000).unwrap();
            let expected = body.replace("${iteration}", &nth.to_string());
            assert_eq!(String::from_utf8(plain).unwrap(), expected);
        }
    }
}
