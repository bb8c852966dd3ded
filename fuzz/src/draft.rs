//! Sources of plans: descriptions of APIs, recordings of browsers, curl commands. Each is refused or becomes a plan that
//! can be read.

use std::path::Path;

use ::draft::{OpenApiOptions, Selection, SourceKind, of_curl, of_har, of_openapi, recognise};
use plans::{Overrides, load};
use workload::FilesInMemory;

use crate::Target;

pub(crate) const DRAFT: Target = Target {
    name: "draft",
    seeds: &[
        br##"{"openapi":"3.1.0","servers":[{"url":"http://h/v1"}],"paths":{"/items/{id}":{"get":{"operationId":"item","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string","format":"uuid"}},{"name":"q","in":"query","example":"a&b"}],"responses":{"200":{}}},"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}}}}},"components":{"schemas":{"A":{"type":"object","properties":{"a":{"$ref":"#/components/schemas/A"},"n":{"type":"integer","minimum":3}}}}}}"##,
        br#"{"openapi":"3.1.1","servers":[{"url":"http://h/"}],"paths":{"/f":{"post":{"requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","contentEncoding":"base64"}},"b":{"type":"object","example":{"c":1}},"d":{}}},"encoding":{"a":{"contentType":"image/*, text/csv","headers":{"X-N":{"example":"1"}}}}}}}}}}}"#,
        b"openapi: 3.0.3\nservers: [{url: 'https://{r}.example.com', variables: {r: {default: eu}}}]\npaths:\n  /a: &a\n    get: {responses: {200: {description: ok}}}\n  /b: *a\n",
        br#"{"log":{"entries":[{"startedDateTime":"2026-01-31T12:00:00Z","time":5,"request":{"method":"POST","url":"http://h/x?token=a","headers":[{"name":"cookie","value":"a=b"}],"postData":{"mimeType":"application/json","text":"{\"a\":\"${x}\"}"}},"response":{"status":201,"headers":[{"name":"set-cookie","value":"a=b"}]}}]}}"#,
        b"curl 'http://h/a?b=c' -H 'authorization: Bearer x' \\\n  --data-raw $'{\"a\":\"it\\'s \\u00e4\"}' --compressed ;\ncurl -sXPUT -u a:b h:80 -F a=b -m 2.5 -L\n",
    ],
    words: &[
        b"'''",
        b"\"",
        b"${",
        b"\n[targets.x]\n",
        b"$ref",
        b"allOf",
        b"\\u",
        b"&a [*a]",
        b"9e999",
        b" --json ",
        b" -G ",
        b"://",
        b"${env.HOME}",
        b"\"style\":\"deepObject\",",
        b" --data-urlencode ",
        b"^\"",
        b"\"\"",
        b"csrf",
    ],
    run: |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        let options = OpenApiOptions { server: None, selection: Selection::All };
        let draft = match recognise("source", text) {
            Ok(SourceKind::OpenApi(description)) => of_openapi("source", &description, &options),
            Ok(SourceKind::Har(value)) => of_har("source", &value, Selection::All),
            Ok(SourceKind::Curl) => of_curl("source", text, &FilesInMemory::default()),
            Err(error) => Err(error),
        };
        match draft {
            Ok(draft) => {
                // It may still be refused, for a header's name for example, but it is TOML with the draft's own tables.
                let plan = FilesInMemory::one("plan.toml", draft.text.as_str());
                match load(Path::new("plan.toml"), &plan, &|_| Some("value".to_owned()), &Overrides::default()) {
                    Ok(plan) => draft.check(&plan.workload).expect("the plan sends what was drafted"),
                    Err(errors) => assert!(!errors.to_string().contains("not TOML"), "{errors}"),
                }
                true
            }
            Err(error) => {
                assert!(!error.problem.is_empty(), "an error has a message");
                false
            }
        }
    },
    ..Target::BASE
};
