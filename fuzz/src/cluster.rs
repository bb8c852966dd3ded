//! What workers send over the network: frames, and the ticks in them.

use ::cluster::frame::{FrameReader, MOST_BYTES};
use ::cluster::tick::{TickReader, write};
use evidence::{Instance, Tick};

use crate::Target;

pub(crate) const FRAMES: Target = Target {
    name: "frames",
    seeds: &[b"\x00\x00\x00\x09\x0512345678\x00\x00\x00\x03\x01{}", b"\x00\x00\x00\x09\x0512345678"],
    words: &[b"\0\0\0\x02", b"\x04\0\0\0", b"\xff\xff\xff\xff"],
    run: |input| {
        let whole = frames(&[input]);
        let middle = input.len() / 2;
        assert_eq!(
            whole,
            frames(&[&input[..middle], &input[middle..]]),
            "it matters where the stream is cut"
        );
        whole.is_some_and(|frames| !frames.is_empty())
    },
    ..Target::BASE
};

/// The kinds and lengths of all frames; none where the stream is not understood.
fn frames(parts: &[&[u8]]) -> Option<Vec<(u8, usize)>> {
    let mut reader = FrameReader::new(MOST_BYTES);
    let mut frames = Vec::new();
    for part in parts {
        reader.push(part);
        while let Some(frame) = reader.take().ok()? {
            frames.push((frame.kind as u8, frame.content.len()));
        }
    }
    Some(frames)
}

pub(crate) const TICK: Target = Target {
    name: "tick",
    seeds: &[
        b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
        b"\x01\x02\x00\x00\x04play\x04list\x06steady\x01\x02ok\x01\x01a\x01b\x00\x02\x01\x0f\x04play\x04list\
          \x06steady\x01\x02ok\x01\x01a\x01b\x00\x03\x04play\x00\x00\x00\x00\x00\x00\xf8?\x03\n\x00\x00\x00\
          \x00\x00\x00\xd0?\x04\x00-\x1c\x84\x93\x13\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\
          \x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\xd6\x93\xa4\x00?\xf0\x00\x00\x00\x00\x00\x00\t\x02\x9f;\x02\
          \x05\x01\x05\x05\x05\x01\x06\x06\x06\x00\x03\x05waits\x01\x01k\x01v\x06steady\x07\x00\x02\x02\x00\
          \x00\x00\x00\x00\x00\x10@\x00\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\x00\x00\x00@\x00\x00\x00\x00\
          \x00\x00\x00\x00\x00\x05\x98\x88\x88\x82\x08\x01\x07\x01\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\
          \x00\x00\x01\x00\x80\x94\xeb\xdc\x03\x00",
        b"\x01\x03\x04play\x00\x00\x00\x00\x00\x00\xf8?\x03\n\x00\x00\x00\x00\x00\x00\xd0?\x08\x00\x04play\x04\
          list\x06steady\x07timeout\x80\xde\xa0\xcb\x05\x80\xd8\x8e\xe1o\x00\x15GET http://127.0.0.1/\x01\x06a\
          ccept\x03*/*\x00\x01\xf7\x03\x00\x06sp\xc3\xa4\xc5\xa5\x14no complete response\x00\x01\x07\x01\x00\
          \x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x01\x00\x80\x94\xeb\xdc\x03\x00",
    ],
    words: &[b"\x1c\x84\x93\x13", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x7f\xf0"],
    run: |input| {
        let Some(tick) = read(&[input]) else { return false };
        let mut parts = Vec::new();
        let kept = |part: &[u8]| {
            parts.push(part.to_vec());
            Ok::<(), ()>(())
        };
        write(&tick, kept).expect("every part is kept");
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let same = read(&parts).expect("a tick that was written can be read");
        let sums = |tick: &Tick| tick.histograms().map(|(key, times)| (key, times.count())).collect::<Vec<_>>();
        let count = |tick: &Tick| tick.counts().iter().map(|count| count.value).sum::<u64>();
        assert_eq!((sums(&same), count(&same)), (sums(&tick), count(&tick)));
        assert_eq!((same.state, same.second), (tick.state, tick.second));
        true
    },
    ..Target::BASE
};

/// The tick of these parts; none where they are not understood, or not all of it.
fn read(parts: &[&[u8]]) -> Option<Tick> {
    let (mut reader, mut tick) = (TickReader::default(), Tick::default());
    let mut is_all = false;
    for part in parts {
        is_all = reader.read(part, Instance::default(), &mut tick).ok()?;
    }
    is_all.then_some(tick)
}
