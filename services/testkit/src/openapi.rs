//! An API's document compared with real responses.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::Value;

use crate::http::Response;
use crate::schema::differences;

/// A document, and the responses that were compared with it.
#[derive(Debug)]
pub struct Document {
    pub json: Value,
    seen: BTreeSet<(String, String)>,
}

impl Document {
    pub fn new(json: Value) -> Self {
        Self { json, seen: BTreeSet::new() }
    }

    /// Every path with each of its methods.
    pub fn operations(&self) -> Vec<(String, Method)> {
        let paths = self.json["paths"].as_object().unwrap().iter();
        let methods = |methods: &Value| methods.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        paths
            .flat_map(|(path, operations)| {
                methods(operations).into_iter().map(|method| (path.clone(), method))
            })
            .map(|(path, method)| (path, method.to_uppercase().parse().unwrap()))
            .collect()
    }

    /// Compares a response with what is documented for this operation and its status.
    pub fn check(&mut self, method: &Method, path: &str, response: &Response) {
        let (status, answer) = response.status_and_json();
        let operation = &self.json["paths"][path][method.as_str().to_lowercase()];
        let mut documented = &operation["responses"][status.as_str()];
        if let Some(reference) = documented["$ref"].as_str() {
            documented = self.json.pointer(reference.trim_start_matches('#')).unwrap();
        }
        assert!(
            documented.is_object(),
            "{method} {path} answers {status}, which is not documented: {answer}"
        );
        if let Some(content) = documented["content"].as_object() {
            if let Some(schema) = content.get("application/json").and_then(|json| json.get("schema")) {
                let found = differences(&self.json, schema, &answer);
                assert!(found.is_empty(), "{method} {path} {status}: {found:#?}");
            }
        } else {
            assert_eq!(answer, Value::Null, "{method} {path} {status}");
        }
        let id = operation["operationId"].as_str().unwrap();
        self.seen.insert((id.to_owned(), status.as_str().to_owned()));
    }

    /// The operations and statuses that are documented and were not seen. Those `elsewhere` are caused by other tests;
    /// an empty operation stands for any.
    pub fn missing(&self, elsewhere: &[(&str, &str)]) -> Vec<(String, String)> {
        let paths = self.json["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
        let documented = operations.flat_map(|operation| {
            let id = operation["operationId"].as_str().unwrap();
            operation["responses"].as_object().unwrap().keys().map(|status| (id.to_owned(), status.clone()))
        });
        let is_elsewhere = |(id, status): &(String, String)| {
            elsewhere.iter().any(|(other, seen)| status == seen && (other.is_empty() || id == other))
        };
        documented.filter(|pair| !is_elsewhere(pair) && !self.seen.contains(pair)).collect()
    }
}
