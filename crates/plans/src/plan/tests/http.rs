//! Options of HTTP steps.

use super::*;
use workload::http::HttpOptions;
use workload::redact::Redactor;
use workload::template::Template;

#[test]
fn options_of_http_steps_are_read_with_the_targets_defaults() {
    let plan = |more: &str| {
        format!(
            "version = 1\n[targets.shop]\nurl = \"http://us%40er:pa%3Ass@127.0.0.1:8000/x\"\nredirects = 5\n\
             cookies = true\n[[scenarios]]\nname = \"s\"\nexecutor = \"constant-vus\"\nvus = 1\n\
             duration = \"5s\"\n[[scenarios.steps]]\nname = \"a\"\nget = \"${{shop.url}}/a\"\n\
             [[scenarios.steps]]\nname = \"b\"\npost = \"${{shop.url}}/b\"\nredirects = 0\n{more}\n"
        )
    };
    let workload = good(&plan("auth = \"basic:bob:secret-of-bob\"\ncompress = \"gzip\""));
    let kept =
        |workload: &Workload| (workload.targets["shop"].cookies, workload.targets["shop"].fresh_cookies);
    assert_eq!(kept(&workload), (true, false));
    let fresh = plan("").replacen("cookies = true", "cookies = \"iteration\"", 1);
    assert_eq!(kept(&good(&fresh)), (true, true));
    let options: Vec<_> = workload.scenarios[0]
        .steps()
        .map(|step| match &step.request {
            Request::Http { options, path, .. } => (options.clone(), path.source().to_owned()),
            Request::Grpc { .. } => panic!("it is HTTP"),
        })
        .collect();
    let auth = |text| Some(Template::literal(text));
    let first = HttpOptions { redirects: 5, basic_auth: auth("us@er:pa:ss"), compress: false };
    let second = HttpOptions { redirects: 0, basic_auth: auth("bob:secret-of-bob"), compress: true };
    assert_eq!(options, [(first, "/x/a".to_owned()), (second, "/x/b".to_owned())]);
    let stored =
        serde_json::to_string(&Redactor::new(&workload, &BTreeMap::new()).stored(&workload)).unwrap();
    assert!(!stored.contains("secret-of-bob") && !stored.contains("pa:ss"), "{stored}");
    let wrong = "auth = \"digest:bob\"\ncompress = \"br\"";
    assert_snapshot!(errors(&plan(wrong), &[]), @r#"
    plan.toml:18:8: authorization is written `"basic:USER:PASSWORD"`; other kinds are a header of their own
    plan.toml:19:12: `br` is not known; the only compression of requests is `"gzip"`
    "#);
}
