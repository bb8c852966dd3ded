//! `k6/http` of scripts. What is expected was recorded from k6 1.8.1 with the same scripts.

use testbed::{Behaviour, CannedResponse, Ending, Served, Site, Target};

use crate::command::{CommandOutput, TestFolder};

/// Run a script, whose target is `__ENV.BASE`.
pub(crate) fn run(script: &str, site: Site<Behaviour>) -> (CommandOutput, Target) {
    let target = testbed::http(site).unwrap();
    let folder = TestFolder::new("");
    let head = "import http from 'k6/http';
        const B = __ENV.BASE;
        const say = (...all) => console.log(all.map((one) => typeof one === 'string' ? one : JSON.stringify(one)).join(' '));
        const received = (response) => response.json();\n";
    folder.write("script.js", format!("{head}{script}"));
    let base = format!("BASE=http://{}", target.addr());
    let ran = folder.plimsoll(&["run", "script.js", "-e", &base, "--evidence", "run.plimsoll", "--quiet"]);
    (ran, target)
}

pub(crate) fn site() -> Site<Behaviour> {
    Site::new().otherwise(Behaviour::Echo)
}

fn response(headers: &[(&str, &str)], body: &str) -> Behaviour {
    let empty = CannedResponse { headers: Vec::new(), ..CannedResponse::new(200).body(body) };
    headers.iter().fold(empty, |all, (name, value)| all.header(name, value)).into()
}

fn redirect(status: u16, to: &str) -> CannedResponse {
    CannedResponse::new(status).body("").header("location", to)
}

/// The cookies of each request for this path.
fn cookies(target: &Target, path: &str) -> Vec<String> {
    let of = |served: &Served| served.header("cookie").unwrap_or_default().to_owned();
    target.log().iter().filter(|served| served.path == path).map(of).collect()
}

#[test]
fn cookies_that_responses_set_are_sent_until_the_iteration_ends() {
    let lines =
        ["a=1", "b=2; Path=/sub", "d=\"q z\"; HttpOnly; Secure", "e=5; Max-Age=100", "h=8; Max-Age=0"];
    let set: Vec<(&str, &str)> = lines.iter().map(|line| ("set-cookie", *line)).collect();
    let script = "export const options = { iterations: 2 };
        export default function () {
            http.get(`${B}/x`);
            const set = http.get(`${B}/set`);
            say(Object.keys(set.cookies), set.cookies.d[0], set.cookies.h[0].max_age);
            http.get(`${B}/x`);
            http.get(`${B}/sub/x`);
            http.get(`${B}/redirect`);
            http.get(`${B}/x`, { cookies: { a: 'new', z: { value: 'zz' } } });
            http.get(`${B}/x`, { headers: { Cookie: 'own=1' }, cookies: { a: { value: 'rep', replace: true } } });
        }";
    let site = site()
        .at("/set", response(&set, ""))
        .at("/redirect", redirect(302, "/x").header("set-cookie", "red=1").into());
    let (ran, target) = run(script, site);
    ran.exits_with(0).stderr_contains(&[
        "INFO [\"a\",\"b\",\"d\",\"e\",\"h\"] {\"name\":\"d\",\"value\":\"q z\",\"domain\":\"\",\"path\":\"\",\
         \"http_only\":true,\"secure\":true,\"max_age\":0,\"expires\":-6795364578871} -1",
    ]);
    let once = [
        "",
        "a=1; d=\"q z\"; e=5",
        "a=1; d=\"q z\"; e=5; red=1",
        "a=new; z=zz; a=1; d=\"q z\"; e=5; red=1",
        "own=1; a=rep; d=\"q z\"; e=5; red=1",
    ];
    assert_eq!(cookies(&target, "/x"), [once, once].concat());
    assert_eq!(cookies(&target, "/sub/x"), ["b=2; a=1; d=\"q z\"; e=5"; 2]);
}

#[test]
fn cookies_outlive_an_iteration_where_the_script_says_so() {
    let script = "export const options = { iterations: 2, noCookiesReset: true };
        export default function () { http.get(`${B}/x`); http.get(`${B}/set`); }";
    let (_, target) = run(script, site().at("/set", response(&[("set-cookie", "a=1")], "")));
    assert_eq!(cookies(&target, "/x"), ["", "a=1"]);
}

#[test]
fn scripts_read_and_change_their_jars() {
    let script = "
        try { http.cookieJar(); } catch (e) { say(e.message); }
        export default function () {
            const jar = http.cookieJar(), own = new http.CookieJar();
            say(jar.set(B, 'js', 'v'), jar.set(`${B}/p`, 'jp', 'w', { path: '/p', max_age: 600 }));
            jar.set(B, 'past', 'v', { expires: 'Wed, 21 Oct 2015 07:28:00 GMT' });
            jar.set('http://sub.example.com', 'jd', 'v', { domain: 'example.com' });
            say(jar.cookiesForURL(`${B}/p/q`), jar.cookiesForURL('http://example.com'));
            jar.delete(B, 'js');
            say(jar.cookiesForURL(B));
            for (const wrong of [() => jar.set('::nope', 'a', 'b'), () => jar.set(B, 'x', 'v', { expires: 'soon' })]) {
                try { wrong(); } catch (e) { say(e.message); }
            }
            own.set(B, 'o', 'w');
            http.get(`${B}/x`, { jar: own });
            http.get(`${B}/set`, { jar: own });
            http.get(`${B}/x`, { jar: own, cookies: { o: 'P' } });
            http.get(`${B}/x`);
            jar.set(B, 'm', '1');
            jar.clear(B);
            say(jar.cookiesForURL(B), jar.cookiesForURL(`${B}/p`));
            const asked = http.get(`${B}/x`, { cookies: { 'a b': 'c d', s: 'a;b' } });
            say(asked.request.headers, asked.request.cookies);
        }";
    let (ran, target) = run(script, site().at("/set", response(&[("set-cookie", "resp=1")], "")));
    ran.stderr_contains(&[
        "INFO Making cookie jars in the init context is not supported",
        "INFO true true",
        "INFO {\"jp\":[\"w\"],\"js\":[\"v\"]} {\"jd\":[\"v\"]}",
        "INFO {} ",
        "INFO parse \"::nope\": missing protocol scheme",
        "INFO unable to parse \"expires\" date string \"soon\"",
        "INFO {} {\"jp\":[\"w\"]}",
        "\"Cookie\":[\"a b=\\\"c d\\\"; s=ab\"]",
        "\"s\":[{\"name\":\"s\",\"value\":\"a;b\",\"replace\":false}]",
    ]);
    assert_eq!(cookies(&target, "/x"), ["o=w", "o=P; o=w; resp=1", "", "a b=\"c d\"; s=ab"]);
}

#[test]
fn bodies_are_forms_files_and_compressed() {
    let script = "export default function () {
            const sent = (body, params) => { const r = received(http.post(`${B}/x`, body, params)); return [r.headers['content-type'], r.body]; };
            say('form', sent({ b: 'x y', a: 'ä&', arr: ['1', 2], nul: null, o: { k: 1 } }));
            const [type, body] = sent({ a: '1', f: http.file('data', 'n\"1.txt', 'text/plain') });
            const boundary = /boundary=(\\w{60})$/.exec(type)[1];
            say('parts', body.replaceAll(boundary, 'B').replaceAll('\\r\\n', '|'));
            say('file', http.file('x', 'y'), new Uint8Array(http.file(new Uint8Array([7]).buffer).data)[0]);
            for (const body of [5, [1, 2]]) { const r = http.post(`${B}/x`, body); say(r.status, r.error, r.request); }
            for (const compression of ['gzip', 'deflate', 'zstd', 'nope', 'br']) {
                const r = http.post(`${B}/coded`, 'raw', { compression });
                say(compression, r.status, r.error, r.request && [r.request.headers['Content-Encoding'], r.request.body]);
            }
            for (const path of ['zipped', 'broken', 'unknown']) {
                const r = http.get(`${B}/${path}`);
                say(path, r.status, r.error_code, r.body);
            }
        }";
    let zipped = "\u{1f}";
    let mut bytes = Vec::new();
    wire::coding::gzip(b"unpacked", &mut bytes);
    let coded = |coding: &str, body: &[u8]| {
        Behaviour::from(CannedResponse::new(200).body(body).header("content-encoding", coding))
    };
    let site = site()
        .at("/zipped", coded("gzip", &bytes))
        .at("/broken", coded("gzip", zipped.as_bytes()))
        .at("/unknown", coded("foo", b"xx"));
    let (ran, target) = run(script, site);
    ran.stderr_contains(&[
        "form [\"application/x-www-form-urlencoded\",\"a=%C3%A4%26&arr=1&arr=2&b=x+y&nul=%3Cnil%3E&o=map%5Bk%3A1%5D\"]",
        "parts --B|Content-Disposition: form-data; name=\"a\"||1|--B|Content-Disposition: form-data; name=\"f\"; \
         filename=\"n\\\"1.txt\"|Content-Type: text/plain||data|--B--|",
        "file {\"data\":\"x\",\"filename\":\"y\",\"content_type\":\"application/octet-stream\"} 7",
        "0 unknown request body type int64 null",
        "0 unknown request body type []interface {} null",
        "gzip 200  [[\"gzip\"],\"raw\"]",
        "nope 0 unknown compression algorithm nope, supported algorithms are [gzip deflate zstd br] null",
        "br 0 params.compression \"br\" of http requests is not supported null",
        "zipped 200 0 unpacked",
        "broken 0 1701 null",
        "unknown 200 0 xx",
    ]);
    let coded: Vec<Vec<u8>> = target
        .log()
        .iter()
        .filter(|served| served.path == "/coded")
        .map(|served| {
            let coding = served.header("content-encoding").unwrap();
            wire::coding::decode(coding.as_bytes(), &served.body, 100).unwrap()
        })
        .collect();
    assert_eq!(coded, [b"raw"; 3]);
}

#[test]
fn users_are_named_by_the_url_and_by_digests() {
    let script = "export default function () {
            const with_user = B.replace('//', '//user:pa%3Ass@');
            http.get(`${with_user}/x`);
            http.get(`${with_user}/x`, { headers: { Authorization: 'own' } });
            say(http.get(`${with_user}/digest`, { auth: 'digest' }).status);
            try { http.get(`${with_user}/x`, { auth: 'ntlm' }); } catch (e) { say(e.message); }
        }
        export const options = { thresholds: { http_reqs: ['count==4'], http_req_failed: ['rate==0'] } };";
    let challenge = "Digest realm=\"r\", nonce=\"abc\", qop=\"auth\", opaque=\"op\", algorithm=MD5";
    let asks = CannedResponse::new(401).header("www-authenticate", challenge);
    let digest = Behaviour::Sequence(vec![asks.into(), Behaviour::ok()]);
    let (ran, target) = run(script, site().at("/digest", digest));
    ran.exits_with(0)
        .stderr_contains(&["INFO 200", "params.auth \"ntlm\" of http requests is not supported"]);
    let log = target.log();
    let given: Vec<&str> = log.iter().map(|served| served.header("authorization").unwrap()).collect();
    assert_eq!(given[..3], ["Basic dXNlcjpwYTpzcw==", "own", "Basic dXNlcjpwYTpzcw=="]);
    for part in
        ["Digest username=\"user\", realm=\"r\", nonce=\"abc\", uri=\"/digest\"", "nc=00000001, cnonce=\""]
    {
        assert!(given[3].contains(part), "{}", given[3]);
    }
}

/// What the log contains after the requests that fail.
const FAILURES: &[&str] = &[
    "error=\"Get \\\"http://127.0.0.1:1/\\\": dial tcp 127.0.0.1:1: connect: connection refused\"",
    "refused: 0 1212 dial: connection refused http://127.0.0.1:1/",
    "reset: 0 1220 read: connection reset by peer /reset",
    "short: 0 1000 unexpected EOF /short",
    "timeout: 0 1050 request timeout /never",
    "timeout 0: 0 1050 request timeout /x",
    "dns: 0 1101 lookup: no such host http://nosuchhost.invalid/",
    "no tls: 0 1301 tls: first record does not look like a TLS handshake",
    "url: 0 1000 unsupported protocol scheme \"ftp\" ftp://h/",
    "url: 0 1000 unsupported protocol scheme \"\" nonsense",
    "url: 0 1000 http: no Host in request URL http://",
    "url: 0 1210 dial tcp: address 99999: invalid port http://h:99999/",
    "url: 0 1020 invalid URL: parse \"://x\": missing protocol scheme ",
    "url: 0 1020 invalid URL: parse \"http://a b/\": invalid character \" \" in host name ",
    "url: 0 1020 invalid URL: parse \"http://h:port/\": invalid port \":port\" after host ",
    "url: 0 1020 invalid URL: parse \"http://h/a%zz\": invalid URL escape \"%zz\" ",
    "number: 0 1020 invalid URL: '#5' ",
    "nothing: 0 1020 invalid URL: '#<nil>' ",
    "object: 0 1020 invalid URL: '#map[a:1]' ",
    "redirect to ftp: 0 1000 unsupported protocol scheme \"ftp\" ftp://x/",
    "redirect to nothing: 0 1000 failed to parse Location header \"http://[bad\": parse \"http://[bad\": missing ']' in host /to-bad",
    "redirect refused: 0 1212 dial: connection refused http://127.0.0.1:1/",
    "redirect limit: 302 0  /to-x",
    "404: 404 1404  /404",
    "timeout text: 0 0 invalid timeout value: time: invalid duration \"soon\" ",
    "type: 0 0 x does not belong to ResponseType values ",
    "callback: 0 0 unsupported responseCallback ",
    "header: 0 1000 net/http: invalid header field name \"a b\" /x",
    "method: 0 1000 net/http: invalid method \"A B\" /x",
    "thrown: Get \"nonsense\": unsupported protocol scheme \"\"",
    "thrown: unsupported argument, expected http.expectedStatuses",
    "thrown: no arguments",
    "thrown: argument number 1 to expectedStatuses was neither an integer nor an object like {min:100, max:329}",
    "thrown: no argument was provided to http.batch()",
    "thrown: invalid http.batch() argument type int64",
    "thrown: the body is null so we can't transform it to HTML - this likely was because of a request error getting the response",
];

#[test]
fn failures_have_the_codes_and_texts_of_k6() {
    let script = "export default function () {
            const say_all = (name, r) => say(`${name}:`, r.status, r.error_code, r.error, r.url.replace(B, ''));
            const of = (name, url, params) => say_all(name, http.get(url, params));
            of('refused', 'http://127.0.0.1:1/');
            of('reset', `${B}/reset`);
            of('short', `${B}/short`);
            of('timeout', `${B}/never`, { timeout: 200 });
            of('timeout 0', `${B}/x`, { timeout: 0 });
            of('dns', 'http://nosuchhost.invalid/');
            of('no tls', `${B.replace('http', 'https')}/x`);
            for (const url of ['ftp://h/', 'nonsense', 'http://', 'http://h:99999/', '://x', 'http://a b/', 'http://h:port/', 'http://h/a%zz']) of('url', url);
            of('number', 5); of('nothing'); of('object', { a: 1 });
            of('redirect to ftp', `${B}/to-ftp`);
            of('redirect to nothing', `${B}/to-bad`);
            of('redirect refused', `${B}/to-refused`);
            of('redirect limit', `${B}/to-x`, { redirects: 0 });
            of('404', `${B}/404`);
            of('timeout text', `${B}/x`, { timeout: 'soon' });
            of('type', `${B}/x`, { responseType: 'x' });
            of('callback', `${B}/x`, { responseCallback: 'x' });
            of('header', `${B}/x`, { headers: { 'a b': 'c' } });
            say_all('method', http.request('A B', `${B}/x`));
            for (const wrong of [() => http.get('nonsense', { throw: true }), () => http.setResponseCallback('x'), () => http.expectedStatuses(),
                () => http.expectedStatuses({ min: 1 }), () => http.batch(), () => http.batch(5), () => http.get(B, { responseType: 'none' }).html()]) {
                try { wrong(); } catch (e) { say('thrown:', e.message); }
            }
        }";
    let site = site()
        .at("/reset", Behaviour::reset())
        .at("/short", Behaviour::lie_about_length(10, "abc", Ending::Close))
        .at("/never", Behaviour::never())
        .at("/to-ftp", redirect(302, "ftp://x/").into())
        .at("/to-bad", redirect(302, "http://[bad").into())
        .at("/to-refused", redirect(302, "http://127.0.0.1:1/").into())
        .at("/to-x", redirect(302, "/x").into())
        .at("/404", Behaviour::status(404));
    let (ran, _) = run(script, site);
    ran.stderr_contains(FAILURES);
}

#[test]
fn redirects_carry_what_k6_sends_on() {
    let script = "export default function () {
            const secret = { headers: { Authorization: 'own', 'Content-Type': 'x/y' }, cookies: { c: '1' } };
            say('same', http.post(`${B}/see`, 'body', secret).request.method);
            http.post(`${B}/keep`, 'body', secret);
            const other = http.post(`${B}/away`, 'body', secret);
            say('url', other.url, other.request.url.replace(B, ''));
            const near = http.get(`${B}/near`), refused = http.get('http://127.0.0.1:1/');
            say('remote', near.remote_ip, near.remote_port === Number(B.split(':')[2]), near.tls_version, near.ocsp.status, refused.remote_port);
        }";
    let other = testbed::http(Behaviour::ok()).unwrap();
    let away = format!("http://localhost:{}/there", other.addr().port());
    let site = site()
        .at("/see", redirect(303, "/x").into())
        .at("/keep", redirect(307, "/x").into())
        .at("/away", redirect(302, &away).into());
    let (ran, target) = run(script, site);
    ran.stderr_contains(&[
        "INFO same POST",
        &format!("INFO url {away} /away"),
        "INFO remote 127.0.0.1 true   0",
    ]);
    let log = target.log();
    let of = |served: &Served| {
        let header = |name: &str| served.header(name).unwrap_or("-").rsplit('/').next().unwrap().to_owned();
        let body = String::from_utf8(served.body.clone()).unwrap();
        [
            served.method.clone(),
            body,
            header("authorization"),
            header("cookie"),
            header("content-type"),
            header("referer"),
        ]
    };
    let followed: Vec<[String; 6]> = log.iter().filter(|served| served.path == "/x").map(of).collect();
    assert_eq!(
        followed,
        [["GET", "", "own", "c=1", "-", "see"], ["POST", "body", "own", "c=1", "y", "keep"]]
    );
    assert_eq!(of(&other.log()[0])[2..4], ["-", "-"]);
}

#[test]
fn a_batch_has_as_many_requests_under_way_as_its_options_say() {
    let script = "export const options = { batch: 3, batchPerHost: 2, iterations: 1 };
        export default function () {
            const url = `${B}/slow`;
            const all = http.batch({ a: url, b: ['GET', url], c: { url }, d: http.url`${B}/slow?${1}`, e: url });
            say(Object.keys(all).join(''), Object.values(all).map((r) => r.status));
        }";
    let slow = CannedResponse::new(200).after(std::time::Duration::from_millis(100));
    let (ran, target) = run(script, site().at("/slow", slow.into()));
    ran.stderr_contains(&["INFO abcde [200,200,200,200,200]"]);
    let log = target.log();
    let most = log.iter().map(|one| {
        let is_held = |other: &&Served| {
            other.received_ns <= one.received_ns && other.answered_ns.is_none_or(|end| end > one.received_ns)
        };
        log.iter().filter(is_held).count()
    });
    assert_eq!((log.len(), most.max()), (5, Some(2)));
}

#[test]
fn a_batch_with_an_element_that_is_no_request_sends_nothing() {
    let script = "export default function () {
            const shown = (r) => r && [r.url, r.status, r.error_code, r.error, r.body];
            say(http.batch([`${B}/x`, ['GET'], `${B}/y`]).map((r) => shown(r)));
            const named = http.batch({ a: `${B}/x`, b: {}, c: `${B}/y` });
            say(Object.keys(named), shown(named.a), shown(named.b));
            try { http.batch([`${B}/x`, ['GET', `${B}/y`, null, { timeout: 'soon', throw: true }]]); } catch (e) { say('thrown:', e.message); }
        }";
    let (ran, target) = run(script, site());
    ran.stderr_contains(&[
        "WARN A batch request failed  error=\"invalid batch request",
        "INFO [[\"\",0,0,\"\",[]],[\"\",0,0,\"invalid batch request '[GET]'\",[]],null]",
        "WARN A batch request failed  error=\"batch request b doesn't have a url key\"",
        "INFO [\"a\",\"b\"] [\"\",0,0,\"\",[]] [\"\",0,0,\"batch request b doesn't have a url key\",[]]",
        "INFO thrown: invalid timeout value: time: invalid duration \"soon\"",
    ]);
    assert_eq!(target.requests(), 0);
}
