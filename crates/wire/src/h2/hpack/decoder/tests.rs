use super::*;
use crate::h2::hpack::huffman;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<(Fit, Vec<String>), WireError> {
    let mut headers = Headers::new();
    let fit = decoder.decode(block, &mut headers)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((fit, headers.iter().map(|(name, value)| format!("{}={}", text(name), text(value))).collect()))
}

/// Blocks of one connection, in order, each with its decoded fields.
fn check(blocks: &[(&str, &[&str])]) {
    let mut decoder = Decoder::new();
    for (hex, fields) in blocks {
        let (fit, seen) = decode(&mut decoder, &bytes(hex)).unwrap();
        assert_eq!(fit, Fit::Whole, "{hex}");
        assert_eq!(&seen, fields, "{hex}");
    }
}

#[test]
fn rfc_7541_c2_each_representation() {
    check(&[(
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        &["custom-key=custom-header"],
    )]);
    check(&[("040c 2f73 616d 706c 652f 7061 7468", &[":path=/sample/path"])]);
    check(&[("1008 7061 7373 776f 7264 0673 6563 7265 74", &["password=secret"])]);
    check(&[("82", &[":method=GET"])]);
}

const REQUESTS: [&[&str]; 3] = [
    &[":method=GET", ":scheme=http", ":path=/", ":authority=www.example.com"],
    &[":method=GET", ":scheme=http", ":path=/", ":authority=www.example.com", "cache-control=no-cache"],
    &[
        ":method=GET",
        ":scheme=https",
        ":path=/index.html",
        ":authority=www.example.com",
        "custom-key=custom-value",
    ],
];

#[test]
fn rfc_7541_c3_and_c4_requests() {
    check(&[
        ("8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", REQUESTS[0]),
        ("8286 84be 5808 6e6f 2d63 6163 6865", REQUESTS[1]),
        ("8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", REQUESTS[2]),
    ]);
    check(&[
        ("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", REQUESTS[0]),
        ("8286 84be 5886 a8eb 1064 9cbf", REQUESTS[1]),
        ("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", REQUESTS[2]),
    ]);
}

const RESPONSES: [&[&str]; 3] = [
    &[
        ":status=302",
        "cache-control=private",
        "date=Mon, 21 Oct 2013 20:13:21 GMT",
        "location=https://www.example.com",
    ],
    &[
        ":status=307",
        "cache-control=private",
        "date=Mon, 21 Oct 2013 20:13:21 GMT",
        "location=https://www.example.com",
    ],
    &[
        ":status=200",
        "cache-control=private",
        "date=Mon, 21 Oct 2013 20:13:22 GMT",
        "location=https://www.example.com",
        "content-encoding=gzip",
        "set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
    ],
];

/// The standard's table holds 256 bytes here, so that entries are evicted; the first block is made to say so.
#[test]
fn rfc_7541_c5_and_c6_responses_with_eviction() {
    check(&[
        (
            "3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a \
             3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
            RESPONSES[0],
        ),
        ("4803 3330 37c1 c0bf", RESPONSES[1]),
        (
            "88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a \
             6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d \
             6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
            RESPONSES[2],
        ),
    ]);
    check(&[
        (
            "3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e \
             919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
            RESPONSES[0],
        ),
        ("4883 640e ffc1 c0bf", RESPONSES[1]),
        (
            "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d \
             d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 \
             3d50 07",
            RESPONSES[2],
        ),
    ]);
}

#[test]
fn broken_blocks_are_refused() {
    for hex in [
        "80",                // index 0
        "be",                // beyond both tables
        "7e 01 61",          // name beyond both tables
        "40 05 61",          // string cut short
        "40",                // nothing after the first byte
        "82 20",             // size update after a field
        "3f e2 1f",          // table above what we announced
        "ff ff ff ff ff ff", // endless integer
        "00 81 00 00",       // padding that is not padding
    ] {
        assert_eq!(decode(&mut Decoder::new(), &bytes(hex)), Err(WireError::HpackError), "{hex}");
    }
}

#[test]
fn a_list_above_the_limits_is_cut_and_the_table_stays_right() {
    let mut decoder = Decoder::new();
    let field = [&[0x40, 1, b'a', 0x7f, 0xa1, 0x1e][..], &[b'x'; 4000]].concat();
    let (fit, seen) = decode(&mut decoder, &[&field[..], &[0xbe; 60_000]].concat()).unwrap();
    assert_eq!((fit, seen.len()), (Fit::Cut, 16));
    let (fit, seen) = decode(&mut decoder, &[0xbe]).unwrap();
    assert_eq!((fit, seen[0].len()), (Fit::Whole, 4002));
    let (fit, seen) = decode(&mut decoder, &[&[0x82; 200][..], &[0x40, 1, b'b', 0]].concat()).unwrap();
    assert_eq!((fit, seen.len()), (Fit::Cut, 128));
    assert_eq!(decode(&mut decoder, &[0xbe]).unwrap().1, ["b="]);
}

#[test]
fn a_name_may_come_from_the_entry_that_its_own_insertion_evicts() {
    let mut decoder = Decoder::new();
    let name = [b'n'; 100];
    let first = [&[0x3f, 0x81, 0x01, 0x40, 100][..], &name, &[1, b'1']].concat();
    decode(&mut decoder, &first).unwrap();
    let (_, seen) = decode(&mut decoder, &[0x7e, 1, b'2']).unwrap();
    assert_eq!(seen[0].as_bytes(), [&name[..], b"=2"].concat());
    assert_eq!(decode(&mut decoder, &[0xbe]).unwrap().1, seen);
}

proptest::proptest! {
    #[test]
    fn huffman_strings_survive(text: Vec<u8>) {
        let mut code = Vec::new();
        huffman::encode(&text, &mut code);
        let mut seen = Vec::new();
        proptest::prop_assert!(huffman::decode(&code, &mut seen).is_ok());
        proptest::prop_assert_eq!(seen, text);
    }

    #[test]
    fn arbitrary_blocks_never_panic(blocks: Vec<Vec<u8>>) {
        let mut decoder = Decoder::new();
        for block in &blocks {
            let _ = decode(&mut decoder, block);
        }
    }
}
