//! The API's document against real answers: every operation, what it does and every refusal that can be brought about.

use crate::schema::differences;
use crate::support::{Client, Server, sample};
use hyper::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Answers that other tests bring about: a trickling body's 408, and a table of devices that is full.
const ELSEWHERE: [(&str, &str); 4] =
    [("telemetry", "408"), ("start", "503"), ("stop", "503"), ("reset", "503")];

struct Asked {
    document: Value,
    seen: BTreeSet<(String, String)>,
}

impl Asked {
    /// Asks and holds the answer against the document.
    async fn ask(
        &mut self,
        client: Client,
        (method, path): (&Method, &str),
        (headers, body): (&[(&str, &str)], &str),
    ) {
        let (status, answer) = client.ask(method.clone(), path, headers, body.to_owned()).await;
        let status = status.as_str();
        let plain = path.split('?').next().unwrap();
        let operation = &self.document["paths"][plain][method.as_str().to_lowercase()];
        let mut described = &operation["responses"][status];
        if let Some(reference) = described["$ref"].as_str() {
            described = self.document.pointer(reference.trim_start_matches('#')).unwrap();
        }
        let content = &described["content"];
        assert!(content.is_object(), "{method} {path} answers {status}, which is not described: {answer}");
        let schema = &content["application/json"]["schema"];
        let found = differences(&self.document, schema, &answer);
        assert!(found.is_empty(), "{method} {path} {status}: {found:#?}");
        self.seen.insert((operation["operationId"].as_str().unwrap().to_owned(), status.to_owned()));
    }

    /// What is described and was not seen.
    fn missed(&self) -> Vec<(String, String)> {
        let paths = self.document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
        let described = operations.flat_map(|operation| {
            let id = operation["operationId"].as_str().unwrap();
            operation["responses"].as_object().unwrap().keys().map(|status| (id.to_owned(), status.clone()))
        });
        let is_elsewhere =
            |(id, status): &(String, String)| ELSEWHERE.contains(&(id.as_str(), status.as_str()));
        described.filter(|pair| !is_elsewhere(pair) && !self.seen.contains(pair)).collect()
    }
}

#[tokio::test]
async fn every_described_answer_is_given_and_every_given_answer_is_described() {
    let server = Server::start(&[("MAX_BODY_BYTES", "4096"), ("MAX_BATCH", "10")]).await;
    let client = server.client();
    let (_, document) = client.get("/openapi.json").await;
    let mut asked = Asked { document, seen: BTreeSet::new() };
    let good = sample("a", 1.0, "LOW");
    let mixed = json!([good, { "device_id": "a" }, 7]).to_string();
    let long = " ".repeat(5000);
    for body in
        [good.to_string(), mixed, "[]".to_owned(), "[{}]".to_owned(), "{".to_owned(), long, String::new()]
    {
        asked.ask(client, (&Method::POST, "/telemetry"), (&[], &body)).await;
    }
    asked.ask(client, (&Method::POST, "/telemetry"), (&[("content-type", "text/csv")], "1")).await;
    let (get, post) = (Method::GET, Method::POST);
    for (method, path) in [
        (&get, "/status"),
        (&get, "/status?device=a"),
        (&get, "/status?device=nobody"),
        (&get, "/status?device=a%20b"),
        (&post, "/start"),
        (&post, "/start"),
        (&post, "/reset"),
        (&post, "/stop"),
        (&post, "/stop"),
        (&get, "/health"),
        (&get, "/metrics"),
        (&get, "/openapi.json"),
    ] {
        asked.ask(client, (method, path), (&[], "")).await;
    }
    let server = Server::start(&[("FAULT_AFTER_SAMPLES", "1")]).await;
    let faulty = server.client();
    faulty.post("/start?device=a", "").await;
    faulty.send(&good).await;
    asked.ask(faulty, (&get, "/status?device=a"), (&[], "")).await;
    asked.ask(faulty, (&post, "/reset?device=a"), (&[], "")).await;
    refused_for_want_of_room(&mut asked).await;
    assert_eq!(asked.missed(), []);
}

async fn refused_for_want_of_room(asked: &mut Asked) {
    let away =
        [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1"), ("QUEUE_SIZE", "1"), ("MAX_BATCH", "1")];
    let server = Server::start(&away).await;
    let full = server.client();
    let body = sample("a", 1.0, "LOW").to_string();
    for _ in 0..2 {
        asked.ask(full, (&Method::POST, "/telemetry"), (&[], &body)).await;
    }
}
