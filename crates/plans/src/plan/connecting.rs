//! Reads the keys of `[targets.NAME]` for connections.

use core::net::IpAddr;

use super::folder::PlanFolder;
use super::section::{Item, Section};
use workload::address::authority_of;
use workload::connection::{
    Connecting, ConnectionOrder, Dns, HttpVersion, IpVersion, Resumption, Retry, Reuse, TlsFiles, TlsSettings,
};
use workload::proxy::Proxy;

/// Read how connections to a target are made.
pub(super) fn read(section: &Section<'_>) -> Connecting {
    let connecting = Connecting {
        http: one_of(
            section.get("http"),
            &[("auto", HttpVersion::Auto), ("1.1", HttpVersion::Http1), ("2", HttpVersion::Http2)],
        ),
        connections: section.get("connections").and_then(|n| n.whole(1..=10_000)).map(|n| n as u32),
        reuse: read_reuse(section),
        connection_order: one_of(
            section.get("connection_order"),
            &[
                ("last-used", ConnectionOrder::LastUsed),
                ("least-recently-used", ConnectionOrder::LeastRecentlyUsed),
            ],
        ),
        retry: one_of(section.get("retry"), &[("unprocessed", Retry::Unprocessed), ("never", Retry::Never)]),
        tls: section.get("tls").map(|item| read_tls(&item)).unwrap_or_default(),
        connect_to: section.get("connect_to").and_then(|item| {
            let text = item.text()?;
            item.issues.check(&item.span(), authority_of(text, None))
        }),
        unix: section.get("unix").and_then(|item| item.text().map(str::to_owned)),
        proxy: section.get("proxy").and_then(|item| {
            let proxy = item.issues.check(&item.span(), Proxy::parse(item.text()?))?;
            if proxy.user.is_some() {
                item.wrong("a plan holds no passwords; use a proxy without credentials");
            }
            Some(proxy)
        }),
        local_addresses: section.get("local_address").map(local_addresses).unwrap_or_default(),
        dns: one_of(section.get("dns"), &[("spread", Dns::Spread), ("first", Dns::First)]),
        dns_ttl: section.get("dns_ttl").and_then(|item| item.duration()),
        ip: one_of(section.get("ip"), &[("any", IpVersion::Any), ("4", IpVersion::V4), ("6", IpVersion::V6)]),
    };
    if let Some(item) = section.get("unix") {
        for key in ["connect_to", "dns_ttl", "local_address", "proxy"] {
            if section.get(key).is_some() {
                item.issues
                    .add(&item.key_span, format!("`unix` cannot be combined with `{key}`; leave one out"));
            }
        }
    }
    if let Some(item) = section.get("proxy").filter(|_| section.get("connect_to").is_some()) {
        item.issues.add(&item.key_span, "`proxy` cannot be combined with `connect_to`; leave one out");
    }
    if let Some(item) = section.get("connection_order") {
        if connecting.reuse.is_some_and(|reuse| reuse != Reuse::Pool) {
            item.issues.add(&item.key_span, "`connection_order` requires `reuse = \"pool\"`; leave it out");
        } else if connecting.http == HttpVersion::Http2 || section.get("url").is_none() {
            item.issues.add(
                &item.key_span,
                "`connection_order` has no effect over HTTP/2, which uses all connections in turn; leave it out",
            );
        }
    }
    if let Some(item) = section.get("http").filter(|_| section.get("url").is_none()) {
        item.issues.add(&item.key_span, "`http` requires `url`; gRPC always uses HTTP/2");
    }
    connecting
}

/// The addresses of this machine to connect from, one or several of one IP version.
fn local_addresses(item: Item<'_>) -> Vec<IpAddr> {
    let (issues, key_span) = (item.issues, item.key_span.clone());
    let address = |item: Item<'_>| {
        let text = item.text()?;
        let wrong =
            |_| format!("`{text}` is not an IP address; write one of this machine, such as `\"127.0.0.2\"`");
        item.issues.check(&item.span(), text.parse::<IpAddr>().map_err(wrong))
    };
    let addresses: Vec<IpAddr> = item.one_or_many().into_iter().filter_map(address).collect();
    if addresses.iter().any(IpAddr::is_ipv4) && addresses.iter().any(IpAddr::is_ipv6) {
        issues.add(
            &key_span,
            "the addresses of `local_address` are of one IP version: a connection is between two of one kind",
        );
    }
    addresses
}

fn read_reuse(section: &Section<'_>) -> Option<Reuse> {
    let item = section.get("reuse")?;
    match item.text()? {
        // The earlier name of `pool`.
        "always" => Some(Reuse::Pool),
        _ => word_of(
            &item,
            &[
                ("user", Reuse::User),
                ("pool", Reuse::Pool),
                ("iteration", Reuse::Iteration),
                ("never", Reuse::Never),
            ],
        ),
    }
}

/// The value of the word in `item`; the default without an item.
fn one_of<T: Copy + Default>(item: Option<Item<'_>>, words: &[(&str, T)]) -> T {
    item.and_then(|item| word_of(&item, words)).unwrap_or_default()
}

/// The value of the word in `item`; none after an error.
fn word_of<T: Copy>(item: &Item<'_>, words: &[(&str, T)]) -> Option<T> {
    let text = item.text()?;
    let known = words.iter().find(|(word, _)| *word == text);
    if known.is_none() {
        let words: Vec<_> = words.iter().map(|(word, _)| format!("`\"{word}\"`")).collect();
        item.wrong(format!("`{}` is one of {}", item.key, words.join(", ")));
    }
    known.map(|(_, value)| *value)
}

fn read_tls(item: &Item<'_>) -> TlsSettings {
    let Some(section) = item.section("`tls`") else { return TlsSettings::default() };
    let text = |key| section.get(key).and_then(|item| item.text().map(str::to_owned));
    let tls = TlsSettings {
        ca: text("ca"),
        cert: text("cert"),
        key: text("key"),
        insecure: section.get("insecure").and_then(|item| item.flag()).unwrap_or(false),
        resumption: match section.get("resumption").and_then(|item| item.flag()) {
            Some(false) => Resumption::Off,
            Some(true) | None => Resumption::Allowed,
        },
    };
    if tls.cert.is_some() != tls.key.is_some() {
        section
            .issues
            .add(&section.span, "`cert` and `key` go together: the client's certificate and its private key");
    }
    section.finish();
    tls
}

/// Read the files that the `tls` table of a target names.
pub(super) fn read_files(section: &Section<'_>, tls: &TlsSettings, folder: PlanFolder<'_>) -> TlsFiles {
    let read = |path: &Option<String>| {
        let path = path.as_ref()?;
        let span = section.get("tls").map_or(section.span.clone(), |item| item.span());
        let bytes = folder.read(path);
        section.issues.check(&span, bytes.map_err(|e| format!("{path} cannot be read: {e}; check the path")))
    };
    TlsFiles { ca: read(&tls.ca), cert: read(&tls.cert), key: read(&tls.key) }
}
