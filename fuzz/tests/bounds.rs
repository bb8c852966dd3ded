//! What the largest hostile inputs take, beyond those that the mutations reach.

use fuzz::{TARGETS, Target, run_case};

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("there is such a parser")
}

/// Inside a field of a message with this tag.
fn field(tag: u8, payload: &[u8]) -> Vec<u8> {
    let mut field = vec![tag];
    let mut length = payload.len();
    while length > 0x7f {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    [field, payload.to_vec()].concat()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A profile with one sample type and one location, and then `records`, up to 64 MiB.
fn profile(record: impl Fn(u64) -> Vec<u8>) -> Vec<u8> {
    const MOST: usize = 64 << 20;
    let mut profile = b"\x0a\x04\x08\x01\x10\x01\x32\0\x32\x01a\x22\x02\x08\x01".to_vec();
    let mut number = 2;
    loop {
        let next = record(number);
        if profile.len() + next.len() > MOST {
            return profile;
        }
        profile.extend(next);
        number += 1;
    }
}

#[test]
fn a_profile_takes_no_more_than_a_gibibyte() {
    const STATED: usize = 1 << 30;
    let deep = [field(0x0a, &vec![1; 500_000]), b"\x12\x01\x05".to_vec()].concat();
    let deep = field(0x12, &deep);
    let labelled = field(0x12, &[&b"\x12\x01\x05"[..], &b"\x1a\x02\x08\x01".repeat(1_000)].concat());
    let inputs = [
        profile(|number| field(0x22, &[&b"\x08"[..], &varint(number)].concat())),
        profile(|number| field(0x2a, &[&b"\x08"[..], &varint(number)].concat())),
        profile(|_| b"\x12\x05\x0a\x01\x01\x12\x01\x05".to_vec()),
        profile(|_| b"\x32\0".to_vec()),
        profile(|_| deep.clone()),
        profile(|_| labelled.clone()),
    ];
    let profile = target("profile");
    let only_read = Target {
        name: profile.name,
        seeds: profile.seeds,
        words: profile.words,
        run: |input| ::profile::read(input).is_ok(),
        most_bytes: STATED,
        one_of: 1,
    };
    for (number, input) in inputs.iter().enumerate() {
        let case = run_case(&only_read, input).unwrap_or_else(|why| panic!("input {number}: {why}"));
        eprintln!("input {number}: {} MiB", case.peak_bytes >> 20);
    }
}
