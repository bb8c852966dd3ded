//! A sample as an analysis task: the JSON that is persisted, recovered and handed on, written once.

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use kit::clock::UtcMs;

use crate::sample::{Priority, Sample, Scalar};

/// How often a consumer may retry a task.
const MAX_RETRIES: u32 = 3;

/// Makes unique task ids: a random number of this process, and a counter.
#[derive(Debug)]
pub struct TaskIds {
    process: u64,
    next: AtomicU64,
}

impl Default for TaskIds {
    fn default() -> Self {
        // The keys of a hasher are random, so a clock that is set back repeats no id.
        Self { process: RandomState::new().hash_one(std::process::id()), next: AtomicU64::new(0) }
    }
}

/// One task's part of the buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TaskPart {
    priority: Priority,
    range: Range<usize>,
}

/// The tasks of one request, in one buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tasks {
    json: Bytes,
    parts: Vec<TaskPart>,
}

impl Tasks {
    #[must_use]
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Bytes of their JSON.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.json.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Each task's JSON with its priority.
    pub fn iter(&self) -> impl Iterator<Item = (Priority, Bytes)> {
        self.parts.iter().map(|part| (part.priority, self.json.slice(part.range.clone())))
    }
}

impl TaskIds {
    /// Writes a task for each sample.
    #[must_use]
    pub fn tasks<'a>(&self, samples: impl ExactSizeIterator<Item = &'a Sample<'a>>, now: UtcMs) -> Tasks {
        let first = self.next.fetch_add(samples.len() as u64, Ordering::Relaxed);
        let created_at = now.to_string();
        let mut json = Vec::with_capacity(samples.len() * 384);
        let mut parts = Vec::with_capacity(samples.len());
        for (sample, number) in samples.zip(first..) {
            let begin = json.len();
            self.write(sample, number, &created_at, &mut json);
            parts.push(TaskPart { priority: sample.priority, range: begin..json.len() });
        }
        Tasks { json: json.into(), parts }
    }

    fn write(&self, sample: &Sample<'_>, number: u64, created_at: &str, json: &mut Vec<u8>) {
        let priority = sample.priority.word();
        push(json, r#"{"id":""#);
        hex(json, self.process);
        push(json, "-");
        integer(json, number);
        push(json, r#"","type":"telemetry.analyze","payload":"#);
        payload(sample, json);
        push(json, r#","priority":""#);
        push(json, priority);
        push(json, r#"","max_retries":"#);
        integer(json, MAX_RETRIES.into());
        push(json, r#","created_at":""#);
        push(json, created_at);
        push(json, r#""}"#);
    }
}

/// The sample as it was sent. Names and times have no characters that JSON would escape.
fn payload(sample: &Sample<'_>, json: &mut Vec<u8>) {
    push(json, r#"{"device_id":""#);
    push(json, &sample.device_id);
    push(json, r#"","type":""#);
    push(json, &sample.kind);
    push(json, r#"","value":"#);
    number(json, sample.value);
    push(json, r#","unit":"#);
    text(json, &sample.unit);
    push(json, r#","priority":""#);
    push(json, sample.priority.word());
    push(json, r#"","timestamp":""#);
    push(json, &sample.timestamp);
    push(json, "\"");
    if sample.sequence > 0 {
        push(json, r#","sequence_id":"#);
        integer(json, sample.sequence);
    }
    if !sample.metadata.is_empty() {
        push(json, r#","metadata":{"#);
        for (at, (name, value)) in sample.metadata.iter().enumerate() {
            push(json, if at == 0 { "" } else { "," });
            text(json, name);
            push(json, ":");
            match value {
                Scalar::Text(value) => text(json, value),
                Scalar::Number(value) => number(json, *value),
                Scalar::Bool(value) => push(json, if *value { "true" } else { "false" }),
            }
        }
        push(json, "}");
    }
    push(json, "}");
}

fn push(json: &mut Vec<u8>, text: &str) {
    json.extend_from_slice(text.as_bytes());
}

const INTO_MEMORY: &str = "text and finite numbers can be serialised into memory";

fn text(json: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(json, text).expect(INTO_MEMORY);
}

fn number(json: &mut Vec<u8>, number: f64) {
    serde_json::to_writer(json, &number).expect(INTO_MEMORY);
}

fn integer(json: &mut Vec<u8>, number: u64) {
    serde_json::to_writer(json, &number).expect(INTO_MEMORY);
}

fn hex(json: &mut Vec<u8>, number: u64) {
    let digits = (0..16).rev().map(|digit| b"0123456789abcdef"[(number >> (digit * 4) & 15) as usize]);
    json.extend(digits);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn sample() -> Sample<'static> {
        Sample {
            device_id: "d-1".into(),
            kind: "temperature".into(),
            value: 21.5,
            unit: "°\"C".into(),
            priority: Priority::High,
            timestamp: "2026-01-01T00:00:00Z".into(),
            sequence: 7,
            metadata: vec![
                ("location".into(), Scalar::Text("hall\n\\1".into())),
                ("floor".into(), Scalar::Number(-2.0)),
                ("new".into(), Scalar::Bool(true)),
            ],
        }
    }

    #[test]
    fn a_task_is_json_with_every_member_of_the_sample() {
        let ids = TaskIds { process: 0xab, next: AtomicU64::new(41) };
        let plain = Sample { sequence: 0, metadata: Vec::new(), priority: Priority::Low, ..sample() };
        let tasks = ids.tasks([sample(), plain].iter(), UtcMs(0));
        let read: Vec<(Priority, Value)> =
            tasks.iter().map(|(priority, task)| (priority, serde_json::from_slice(&task).unwrap())).collect();
        let expect = json!({
            "id": "00000000000000ab-41",
            "type": "telemetry.analyze",
            "payload": {
                "device_id": "d-1", "type": "temperature", "value": 21.5, "unit": "°\"C", "priority": "HIGH",
                "timestamp": "2026-01-01T00:00:00Z", "sequence_id": 7,
                "metadata": { "location": "hall\n\\1", "floor": -2.0, "new": true },
            },
            "priority": "HIGH",
            "max_retries": 3,
            "created_at": "1970-01-01T00:00:00Z",
        });
        assert_eq!(read[0], (Priority::High, expect));
        assert_eq!((read[1].0, &read[1].1["id"]), (Priority::Low, &"00000000000000ab-42".into()));
        assert!(read[1].1["payload"].get("metadata").is_none());
        assert!(tasks.iter().all(|(_, task)| !task.contains(&b'\n')), "a task is one line of a file");
    }

    #[test]
    fn two_processes_have_no_id_in_common() {
        assert_ne!(TaskIds::default().process, TaskIds::default().process);
    }
}
