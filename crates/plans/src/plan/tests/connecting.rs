//! The keys of targets for connections.

use super::*;
use workload::connection::{
    Connecting, ConnectionOrder, Dns, HttpVersion, IpVersion, Resumption, Retry, Reuse, TlsSettings,
};

fn target(keys: &str) -> String {
    valid_with("")
        .replace("url = \"http://127.0.0.1:8000/shop\"", &format!("url = \"https://shop.test/a\"\n{keys}"))
}

#[test]
fn every_key_is_read() {
    let plan = target(
        r#"http = "1.1"
connections = 7
reuse = "pool"
connection_order = "least-recently-used"
retry = "never"
connect_to = "[::1]:8443"
local_address = "127.0.0.2"
dns = "first"
dns_ttl = "1h"
ip = "6"
tls = { ca = "ca.pem", cert = "us.pem", key = "us.key", insecure = true, resumption = false }"#,
    );
    let others = [("ca.pem", "A"), ("us.pem", "B"), ("us.key", "CC")];
    let loaded = load_with(&plan, &others, &Overrides::default()).unwrap_or_else(|errors| panic!("{errors}"));
    let shop = &loaded.workload.targets["shop"];
    let text = |text: &str| Some(text.to_owned());
    let expected = Connecting {
        http: HttpVersion::Http1,
        connections: Some(7),
        reuse: Some(Reuse::Pool),
        connection_order: ConnectionOrder::LeastRecentlyUsed,
        retry: Retry::Never,
        tls: TlsSettings {
            ca: text("ca.pem"),
            cert: text("us.pem"),
            key: text("us.key"),
            insecure: true,
            resumption: Resumption::Off,
        },
        connect_to: Some(("::1".to_owned(), 8443)),
        unix: None,
        proxy: None,
        local_addresses: vec![[127, 0, 0, 2].into()],
        dns: Dns::First,
        dns_ttl: Some(Duration::from_secs(3_600)),
        ip: IpVersion::V6,
    };
    assert_eq!(shop.connecting, expected);
    let http = shop.http.as_ref().unwrap();
    assert_eq!((http.scheme, http.host.as_str(), http.port), (Scheme::Https, "shop.test", 443));
    assert_snapshot!(format!("{:?}", loaded.tls["shop"]), @"TlsFiles { ca: Some(1), cert: Some(1), key: Some(2) }");
}

#[test]
fn invalid_and_contradictory_keys_are_reported() {
    assert_snapshot!(errors(&target("http = \"3\"\nreuse = \"often\"\nconnection_order = \"any\"\nretry = \"always\"\ntls = { resumption = \"no\" }\nconnect_to = \"x\"\nlocal_address = \"me\""), &[]), @r#"
    plan.toml:4:8: `http` is one of `"auto"`, `"1.1"`, `"2"`
    plan.toml:5:9: `reuse` is one of `"user"`, `"pool"`, `"iteration"`, `"never"`
    plan.toml:6:20: `connection_order` is one of `"last-used"`, `"least-recently-used"`
    plan.toml:7:9: `retry` is one of `"unprocessed"`, `"never"`
    plan.toml:8:22: `resumption` takes `true` or `false`, not string
    plan.toml:9:14: `x` is not a host and port; write `127.0.0.1:8000`
    plan.toml:10:17: `me` is not an IP address; write one of this machine, such as `"127.0.0.2"`
    "#);
    assert_snapshot!(errors(&target("unix = \"/s\"\nconnect_to = \"h:1\"\ntls = { cert = \"c\" }"), &[]), @r#"
    plan.toml:4:1: `unix` cannot be combined with `connect_to`; leave one out
    plan.toml:6:1: `cert` and `key` go together: the client's certificate and its private key
    plan.toml:6:7: c cannot be read: entity not found; check the path
    "#);
    assert_snapshot!(errors(&target("reuse = \"user\"\nconnection_order = \"last-used\""), &[]), @r#"plan.toml:5:1: `connection_order` requires `reuse = "pool"`; leave it out"#);
    assert_snapshot!(errors(&target("proxy = \"socks5://h:1\""), &[]), @"plan.toml:4:9: proxies are used over cleartext HTTP, not over `socks5`; write `http://`");
    assert_snapshot!(errors(&target("proxy = \"http://ann:secret@h:1\"\nconnect_to = \"h:1\""), &[]), @r"
    plan.toml:4:1: `proxy` cannot be combined with `connect_to`; leave one out
    plan.toml:4:9: a plan holds no passwords; use a proxy without credentials
    ");
    let grpc = "version = 1\n[targets.a]\ngrpc = \"https://h:1\"\nproto = [\"shop.proto\"]\nhttp = \"2\"\n";
    assert_snapshot!(errors(grpc, &[("shop.proto", PROTO)]), @r#"
    plan.toml:1:1: a plan needs one scenario or more: `[[scenarios]]`
    plan.toml:5:1: `http` requires `url`; gRPC always uses HTTP/2
    "#);
}

#[test]
fn an_order_of_connections_that_has_no_effect_is_an_error() {
    let order = "connection_order = \"least-recently-used\"\n";
    let closed = |keys: &str| {
        target(&format!("{keys}{order}"))
            .replace("rate = \"10/s\"", "vus = 10")
            .replace("constant-arrival-rate", "constant-vus")
    };
    assert_snapshot!(errors(&target(&format!("http = \"2\"\n{order}")), &[]), @"plan.toml:5:1: `connection_order` has no effect over HTTP/2, which uses all connections in turn; leave it out");
    let grpc = format!("version = 1\n[targets.a]\ngrpc = \"https://h:1\"\nproto = [\"shop.proto\"]\n{order}");
    assert_snapshot!(errors(&grpc, &[("shop.proto", PROTO)]), @"
    plan.toml:1:1: a plan needs one scenario or more: `[[scenarios]]`
    plan.toml:5:1: `connection_order` has no effect over HTTP/2, which uses all connections in turn; leave it out
    ");
    assert_snapshot!(errors(&closed(""), &[]), @r#"plan.toml:4:1: `connection_order` has no effect: each virtual user of scenario `browse` has its own connections; add `reuse = "pool"`, or leave it out"#);
    for has_effect in [closed("reuse = \"pool\"\n"), closed("connections = 5\n"), target(order)] {
        good(&has_effect);
    }
    // An open scenario beside it has a pool.
    let open = HEAD.split_once("[[scenarios]]").unwrap().1.replace("browse", "beside");
    good(&format!("{}[[scenarios]]{open}", closed("")));
}

#[test]
fn reuse_has_four_values_and_an_earlier_name() {
    let reuse = |key: &str| good(&target(key)).targets["shop"].connecting.reuse;
    assert_eq!(reuse(""), None);
    for (word, expected) in [
        ("user", Reuse::User),
        ("pool", Reuse::Pool),
        ("always", Reuse::Pool),
        ("iteration", Reuse::Iteration),
        ("never", Reuse::Never),
    ] {
        assert_eq!(reuse(&format!("reuse = \"{word}\"")), Some(expected), "{word}");
    }
}

#[test]
fn connections_of_earlier_run_files_are_read() {
    let earlier =
        r#"{ "reuse": "always", "tls": { "ca": null, "cert": null, "key": null, "insecure": true } }"#;
    let read: Connecting = serde_json::from_str(earlier).unwrap();
    let tls = TlsSettings { insecure: true, ..TlsSettings::default() };
    assert_eq!(read, Connecting { reuse: Some(Reuse::Pool), tls, ..Connecting::default() });
}

#[test]
fn a_step_may_have_a_url_under_tls() {
    let workload = good(&valid_with("").replace("${shop.url}/items", "https://[::1]/items"));
    let http = workload.targets["https://[::1]"].http.as_ref().unwrap();
    assert_eq!((http.scheme, http.host.as_str(), http.port), (Scheme::Https, "::1", 443));
}
