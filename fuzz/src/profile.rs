//! Profiles from targets and users.

use ::profile::{CallTree, Side, TopOptions, View, ViewOptions, compare, merge, read, since, top, write};

use crate::Target;

pub(crate) const PROFILE: Target = Target {
    name: "profile",
    seeds: &[
        // Two sample types, labels, an inlined call, a binary without symbols; a heap with a negative value; the same
        // compressed.
        b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x0e\x0a\x02\x01\x02\x12\x02\x03\x1e\x1a\x04\
          \x08\x07\x18p\x12\x0c\x08\x02\x10\x01\x10\x0a\x1a\x04\x08\x07\x10\x08\x1a\x0c\x08\x01\x10\x80 \
          \x18\x80@(\x088\x01\x22\x11\x08\x01\x10\x01\x18\x84 \x22\x04\x08\x01\x10\x07\x22\x02\x08\x02\x22\
          \x07\x08\x02\x10\x01\x18\xe8 *\x0a\x08\x01\x10\x05\x18\x05 \x06(\x03*\x04\x08\x02\x10\x032\x002\
          \x07samples2\x05count2\x03cpu2\x0bnanoseconds2\x09main.work2\x07main.go2\x05bytes2\x03app8\x05Hc\
          P\xe8\x07Z\x04\x08\x03\x10\x04`\x0ah\x06p\x03",
        b"\x0a\x04\x08\x01\x10\x02\x12\x0c\x12\x0a\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x06\x0a\x01\
          \x07\x12\x01\x09\x22\x06\x08\x07\x22\x02\x08\x03*\x04\x08\x03\x10\x042\x002\x0binuse_space2\x05byt\
          es2\x05space2\x01fZ\x04\x08\x03\x10\x02`\x80\x80 ",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xe3b\xe1`\x14`\x12\xe2\x11\xe2\xfa\xfd\x1f\x0a\x18\x85\xd8\xb8\
          \x18\xd9\x85\x189\x95\xd88\xd8\x95\x988\x98\xb5X8\x98\x05X\x8c\x18\x8c\xb83\xf3J\x8bS\xe3\x8b\
          \x0b\x12\x93S\x8dX\x93*KR\x8b\x8dX!<\xc6\xb4(\x90*\xa6\x84\x86\x06\x05\x00\xb9\xb2\xe6\xd8T\x00\x00\x00",
    ],
    words: &[
        b"\x0a\x04\x08\x01\x10\x02",
        b"\x12\x03\x12\x01\x05",
        b"\x12\x08\x0a\x02\x01\x02\x12\x02\x03\x1e",
        b"\x22\x06\x08\x01\x22\x02\x08\x01",
        b"\x2a\x04\x08\x01\x10\x05",
        b"\x32\x00",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\xff\xff\xff\xff\x0f",
    ],
    run: |input| {
        let Ok(profile) = read(input) else { return false };
        let again = write(&profile).expect("writing to memory does not fail");
        assert!(read(&again).is_ok_and(|again| again == profile), "written and read again, a profile differs");
        let twice = merge(&[&profile, &profile]).expect("a profile is compatible with itself");
        assert!(twice.sample_count() <= profile.sample_count());
        let nothing = since(&profile, &profile).expect("a profile can be subtracted from itself");
        assert!(
            nothing
                .samples()
                .all(|sample| sample.values.contains(&i64::MAX) || sample.values.contains(&i64::MIN))
        );
        for counted in &profile.sample_types {
            let options = ViewOptions { sample_type: Some(&counted.name), focus: Some("m") };
            let view = View::new(&profile, options).expect("the profile has this sample type");
            let listed = top(&view, TopOptions::default());
            assert!(listed.rows.len() <= 20);
            let tree = CallTree::build(&view);
            assert!(tree.nodes.iter().all(|node| node.children.len() < tree.nodes.len()));
            let side = Side { view: &view, requests: Some(3) };
            let compared = compare(side, side).expect("a view can be compared with itself");
            assert!(
                compared.movers.iter().all(|mover| mover.change.difference == 0.0),
                "a profile differs from itself"
            );
        }
        true
    },
    // Bytes are inflated up to 64 MiB.
    most_bytes: 256 << 20,
    ..Target::BASE
};
