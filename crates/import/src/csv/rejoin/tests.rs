use super::*;
use crate::csv::for_each_record;

/// A tool that writes a start, whether it succeeded, a message without quotes, and bytes.
const SHAPE: CsvShape = CsvShape {
    is_record: |record| {
        let is_number = |name| record.get(name).parse::<u32>().is_ok();
        is_number("at") && is_number("bytes") && matches!(record.get("ok"), "true" | "false")
    },
    is_start: |record| record.get("at").parse::<u32>().is_ok(),
    unquoted: &["message"],
};

/// What was read, the lines that were not, and how many records were put together.
fn read(lines: &str) -> (String, u64, u64) {
    let mut seen = Vec::new();
    let text = format!("at,ok,message,bytes\n{lines}");
    let reading = for_each_record(&mut text.as_bytes(), SHAPE, |record| {
        seen.push(format!("{} {} {}", record.get("at"), record.get("ok"), record.get("message")));
        Ok(())
    });
    let reading = reading.unwrap();
    (seen.join("; "), reading.malformed, reading.rejoined)
}

#[test]
fn a_message_without_quotes_may_have_line_ends_and_delimiters() {
    let cases = [
        ("1,false,no\nelement,9\n2,true,,8\n", ("1 false no\nelement; 2 true ", 0, 1)),
        ("1,false,no\n\nelement\nat all,9\n2,true,,8\n", ("1 false no\nelement\nat all; 2 true ", 0, 1)),
        ("1,false,no, none,9\n", ("1 false no, none", 0, 1)),
        // Its last fields would be a record of their own, if `false` were a time.
        ("1,false,false,true,,9\n", ("1 false false,true,", 0, 1)),
        ("1,false,\"no\nelement, \"\"none\"\"\",9\n", ("1 false no\nelement, \"none\"", 0, 0)),
    ];
    for (lines, (seen, unread, rejoined)) in cases {
        assert_eq!(read(lines), (seen.to_owned(), unread, rejoined), "{lines}");
    }
}

#[test]
fn lines_that_may_be_of_two_records_are_not_put_together() {
    let cases = [
        // The first was cut off, and the next is whole.
        ("1,false,n\n2,true,,8\n", ("2 true ", 1)),
        // Both were cut off.
        ("1,false,n\n2,true\n3,true,,8\n", ("3 true ", 2)),
        // A line end was lost, and with it the end of one record.
        ("1,true,n2,false,,8\n3,true,,8\n", ("3 true ", 2)),
        // The second lost its start.
        ("1,true,n\nx2,false,,8\n", ("", 2)),
        // There is no message, and no record that ends so.
        ("1,false,no\nelement\n2,true,,8\n", ("2 true ", 2)),
        ("1,false,no,none,x\n", ("", 2)),
        // A quote that is never closed, before a record with quotes.
        ("1,false,\"no,9\n2,true,\"a\",8\n3,true,,8\n", ("3 true ", 2)),
    ];
    for (lines, (seen, unread)) in cases {
        assert_eq!(read(lines), (seen.to_owned(), unread, 0), "{lines}");
    }
}
