//! Libraries that scripts import by their URLs.

use super::{Lines, expect, load};
use crate::modules::library;

#[test]
fn a_library_has_its_url_in_every_version() {
    for (url, name) in [
        ("https://jslib.k6.io/k6-utils/1.4.0/index.js", Some("jslib.k6.io/k6-utils")),
        ("https://jslib.k6.io/url/1.0.0/index.js", Some("jslib.k6.io/url")),
        ("https://jslib.k6.io/url/index.js", None),
        ("https://jslib.k6.io/aws/0.12.3/index.js", None),
        ("https://example.com/k6-utils/1.4.0/index.js", None),
    ] {
        assert_eq!(library(url), name, "{url}");
    }
    let unknown = load("import { x } from 'https://jslib.k6.io/aws/0.12.3/index.js';", "", &Lines::default());
    let error = unknown.map(drop).unwrap_err().to_string();
    let missing = "\"https://jslib.k6.io/aws/0.12.3/index.js\" is not in the import cache";
    let file = "/cache/34eaf034b591448b0d368bb1315d872c1693555020d2ec65fede932992431b94.js";
    assert!(error.contains(missing) && error.contains(file), "{error}");
}

#[test]
fn utils_make_random_values_within_their_limits() {
    expect(
        "import { randomIntBetween, randomItem, randomString, uuidv4 } from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';
         const many = (f) => [...new Set(Array.from({ length: 300 }, f))].sort();",
        &[
            ("many(() => randomIntBetween(3, 5))", "[3,4,5]"),
            ("many(() => randomItem(['a', 'b']))", r#"["a","b"]"#),
            ("many(() => randomString(1, 'xyz'))", r#"["x","y","z"]"#),
            ("/^[a-z]{12}$/.test(randomString(12))", "true"),
            ("many(uuidv4).length", "300"),
            (
                "many(() => uuidv4(true)).every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))",
                "true",
            ),
        ],
    );
}

#[test]
fn utils_find_texts_and_make_stages() {
    expect(
        "import { findBetween, normalDistributionStages, parseDuration }
             from 'https://jslib.k6.io/k6-utils/1.4.0/index.js';",
        &[
            ("findBetween('<a><b>', '<', '>')", r#""a""#),
            ("findBetween('<a><b>', '<', '>', true)", r#"["a","b"]"#),
            ("findBetween('<a', '<', '>')", "null"),
            (
                "normalDistributionStages(10, 60, 4)",
                r#"[{"duration":"10s","target":1},{"duration":"10s","target":6},{"duration":"10s","target":10},{"duration":"10s","target":6},{"duration":"10s","target":1},{"duration":"10s","target":0}]"#,
            ),
            ("normalDistributionStages(10, 60).length", "12"),
            ("Math.max(...normalDistributionStages(10, 60, 3).map((stage) => stage.target))", "10"),
            ("[parseDuration('1h30m'), parseDuration('1.5s'), parseDuration('200')]", "[5400000,1500,200]"),
            ("parseDuration('soon')", r#"!Error: "soon" is not a duration such as "1h30m""#),
        ],
    );
}

#[test]
fn a_url_has_parts_that_can_be_set() {
    expect(
        "import { URL, URLSearchParams } from 'https://jslib.k6.io/url/1.0.0/index.js';
         const url = new URL('HTTPS://me:se%20cret@Example.COM:443/a/./b/../c d?x=1&y=a+b#top');
         const set = (name, value) => { const copy = new URL(url); copy[name] = value; return copy.href; };",
        &[
            ("url.href", r#""https://me:se%20cret@example.com/a/c%20d?x=1&y=a+b#top""#),
            ("[url.protocol, url.username, url.password, url.port]", r#"["https:","me","se%20cret",""]"#),
            (
                "[url.host, url.hostname, url.origin]",
                r#"["example.com","example.com","https://example.com"]"#,
            ),
            ("[url.pathname, url.search, url.hash]", r##"["/a/c%20d","?x=1&y=a+b","#top"]"##),
            ("url.searchParams.get('y')", r#""a b""#),
            ("set('port', 8443)", r#""https://me:se%20cret@example.com:8443/a/c%20d?x=1&y=a+b#top""#),
            ("set('host', 'other:1')", r#""https://me:se%20cret@other:1/a/c%20d?x=1&y=a+b#top""#),
            ("set('pathname', 'x/../é')", r#""https://me:se%20cret@example.com/%C3%A9?x=1&y=a+b#top""#),
            ("set('search', '')", r#""https://me:se%20cret@example.com/a/c%20d#top""#),
            ("set('hash', 'end')", r#""https://me:se%20cret@example.com/a/c%20d?x=1&y=a+b#end""#),
            ("set('protocol', 'http')", r#""http://me:se%20cret@example.com/a/c%20d?x=1&y=a+b#top""#),
            (
                "{ const it = new URL('http://h'); it.searchParams.append('q', 'a&b'); return it; }",
                r#""http://h/?q=a%26b""#,
            ),
            (
                "{ const it = new URL('http://h?a=1'); it.search = 'b=2'; return it.searchParams.get('b'); }",
                r#""2""#,
            ),
            ("set('host', 'a b')", r#""https://me:se%20cret@example.com/a/c%20d?x=1&y=a+b#top""#),
            ("new URL('mailto:me@example.com').pathname", r#""me@example.com""#),
            ("new URL('http://[::1]:80/').host", r#""[::1]""#),
            ("new URL('/x')", "!TypeError: Invalid URL: /x"),
            ("new URL('http://é/')", "!TypeError: Invalid URL: http://é/"),
            ("new URL('http://a b/')", "!TypeError: Invalid URL: http://a b/"),
            ("new URL('http://h:99999/')", "!TypeError: Invalid URL: http://h:99999/"),
            ("new URL('http://')", "!TypeError: Invalid URL: http://"),
        ],
    );
}

/// The examples of RFC 3986, section 5.4, that are also those of the URL Standard.
#[test]
fn a_url_is_resolved_beside_a_base() {
    let cases = [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g/"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../..", "http://a/"),
        ("../../../g", "http://a/g"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("http:g", "http://a/b/c/g"),
    ];
    let cases: Vec<(String, String)> = cases
        .iter()
        .map(|(given, full)| {
            (format!("new URL('{given}', 'http://a/b/c/d;p?q').href"), format!("\"{full}\""))
        })
        .collect();
    let cases: Vec<(&str, &str)> =
        cases.iter().map(|(given, full)| (given.as_str(), full.as_str())).collect();
    expect("import { URL } from 'https://jslib.k6.io/url/1.0.0/index.js';", &cases);
}

#[test]
fn search_parameters_are_read_changed_and_written() {
    expect(
        "import { URLSearchParams } from 'https://jslib.k6.io/url/1.0.0/index.js';
         const of = (init) => new URLSearchParams(init);
         const change = (f) => { const params = of('a=1&b=2&a=3'); f(params); return params.toString(); };",
        &[
            ("of('?a=b%20c&d=%C3%A9&e').toString()", r#""a=b+c&d=%C3%A9&e=""#),
            ("of({ a: 1, b: 'x y' }).toString()", r#""a=1&b=x+y""#),
            ("of([['a', '1'], ['a', '~']]).toString()", r#""a=1&a=%7E""#),
            ("of('a=%zz').get('a')", r#""%zz""#),
            ("of('a=%C3%A9%C3%F0%9F%98%80').get('a')", r#""é�😀""#),
            ("[of('a=1&a=2').getAll('a'), of('a').has('a'), of('a').get('b')]", r#"[["1","2"],true,null]"#),
            ("change((params) => params.set('a', 9))", r#""a=9&b=2""#),
            ("change((params) => params.delete('a'))", r#""b=2""#),
            ("change((params) => params.append('c', '&'))", r#""a=1&b=2&a=3&c=%26""#),
            ("change((params) => params.sort())", r#""a=1&a=3&b=2""#),
            ("[...of('a=1&b=2')]", r#"[["a","1"],["b","2"]]"#),
            ("of([['a']])", "!TypeError: each parameter is a name and a value"),
        ],
    );
}

#[test]
fn csv_is_parsed_with_a_header_and_types() {
    expect(
        "import papaparse, { parse } from 'https://jslib.k6.io/papaparse/5.1.1/index.js';
         const text = 'name,age,ok\\nAda,36,true\\n\"O\\'Neil, \"\"B\"\"\",,false\\n';
         const data = (text, options) => parse(text, options).data;",
        &[
            (
                "data(text, { header: true, skipEmptyLines: true })",
                r#"[{"name":"Ada","age":"36","ok":"true"},{"name":"O'Neil, \"B\"","age":"","ok":"false"}]"#,
            ),
            (
                "data(text, { header: true, dynamicTyping: true, skipEmptyLines: true })",
                r#"[{"name":"Ada","age":36,"ok":true},{"name":"O'Neil, \"B\"","age":null,"ok":false}]"#,
            ),
            ("data('a,b\\n1,2\\n')", r#"[["a","b"],["1","2"],[""]]"#),
            ("data('a,b\\n1,2')", r#"[["a","b"],["1","2"]]"#),
            ("data('a;b\\r\\n1;2\\r\\n3;4')", r#"[["a","b"],["1","2"],["3","4"]]"#),
            ("parse('a\\tb\\r\\n1\\t2').meta.delimiter", r#""\t""#),
            ("data('a|b', { delimiter: '|' })", r#"[["a","b"]]"#),
            ("data('a,\"x\\ny\"\\n1,\"2\"')", r#"[["a","x\ny"],["1","2"]]"#),
            ("data('a,\"x\\ny\"\\r\\n1,2\\r\\n', { skipEmptyLines: true })", r#"[["a","x\ny"],["1","2"]]"#),
            ("data('# no\\na,b', { comments: '#' })", r#"[["a","b"]]"#),
            ("data('a\\n1\\n2\\n3', { header: true, preview: 2 })", r#"[{"a":"1"},{"a":"2"}]"#),
            ("data('a,b\\n ,\\n1,2', { skipEmptyLines: 'greedy' })", r#"[["a","b"],["1","2"]]"#),
            ("data('')", "[]"),
            ("data('a,b,', {})", r#"[["a","b",""]]"#),
            ("data('a,b\\n1,2,3', { header: true })", r#"[{"a":"1","b":"2","__parsed_extra":["3"]}]"#),
            (
                "parse('a,b\\n1', { header: true }).errors.map((error) => [error.code, error.row])",
                r#"[["TooFewFields",0]]"#,
            ),
            ("papaparse.parse('a,b\\n\"1,2').errors[0].code", r#""MissingQuotes""#),
            ("parse('a', { worker: true })", r#"!Error: papaparse: the option "worker" is not supported"#),
        ],
    );
}

#[test]
fn csv_is_written() {
    expect(
        "import papaparse from 'https://jslib.k6.io/papaparse/5.1.1/index.js'; const { unparse } = papaparse;",
        &[
            (r#"unparse([{ a: 1, b: 'x,y' }, { a: null, b: 'q"' }])"#, r#""a,b\r\n1,\"x,y\"\r\n,\"q\"\"\"""#),
            ("unparse([['a', 'b'], [1, ' 2']], { newline: '\\n' })", r#""a,b\n1,\" 2\"""#),
            (
                "unparse({ fields: ['a'], data: [[1], [2]] }, { delimiter: ';', quotes: true })",
                r#""\"a\"\r\n\"1\"\r\n\"2\"""#,
            ),
            ("unparse([{ a: 1, b: 2 }], { columns: ['b'], header: false })", r#""2""#),
        ],
    );
}

#[test]
fn a_summary_is_shown_as_text() {
    let data = "{ root_group: { name: '', path: '', groups: [], checks: [{ name: 'is ok', path: '::is ok', passes: 3, fails: 1 }] },
        options: { summaryTrendStats: ['avg'], summaryTimeUnit: '' }, state: {},
        metrics: { took: { type: 'trend', contains: 'time', values: { avg: 1.5, max: 2500 } } } }";
    let imports = format!(
        "import {{ textSummary, jUnit }} from 'https://jslib.k6.io/k6-summary/0.1.0/index.js'; const data = {data};
         const text = (options) => textSummary(data, {{ enableColors: false, ...options }});"
    );
    expect(
        &imports,
        &[
            ("text({})", r#""     ✗ is ok\n      ↳  75% — ✓ 3 / ✗ 1\n\n     took...: avg=1.5ms""#),
            (
                "text({ indent: '', summaryTrendStats: ['max'], summaryTimeUnit: 's' })",
                r#""    ✗ is ok\n     ↳  75% — ✓ 3 / ✗ 1\n\n    took...: max=2.50s""#,
            ),
            ("textSummary(data).includes('\\u001b[')", "true"),
        ],
    );
}

#[test]
fn each_threshold_is_a_test_case_in_junit() {
    let imports = "import { jUnit } from 'https://jslib.k6.io/k6-summary/0.1.0/index.js';
        const data = { metrics: { took: { thresholds: { 'p(95)<5': { ok: true }, 'max<\"1\"': { ok: false } } }, other: {} } };";
    let all = r#""<?xml version=\"1.0\"?>\n<testsuites tests=\"2\" failures=\"1\">\n<testsuite name=\"k6 thresholds\" tests=\"2\" failures=\"1\">\n<testcase name=\"took - p(95)&lt;5\" />\n<testcase name=\"took - max&lt;&quot;1&quot;\"><failure message=\"failed\" /></testcase>\n</testsuite>\n</testsuites>""#;
    expect(
        imports,
        &[
            ("jUnit(data)", all),
            ("jUnit({ metrics: {} }, { name: 'a&b' }).includes('name=\"a&amp;b\" tests=\"0\"')", "true"),
            ("jUnit(data, { classname: 'c' }).includes('took - p(95)&lt;5\" classname=\"c\" />')", "true"),
        ],
    );
}
