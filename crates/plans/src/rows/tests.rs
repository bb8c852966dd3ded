use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::rows;

fn rows(table: &Table) -> Vec<Vec<String>> {
    (0..table.rows()).map(|row| (0..table.columns().len()).map(|c| table.value(row, c)).collect()).collect()
}

#[test]
fn csv_and_json_give_the_same_rows() {
    let csv =
        rows::csv(b"\xef\xbb\xbfid,name,n\n1,\"a, \"\"b\"\"\",2.5\n2,,true\n", "u.csv").expect("it is CSV");
    let json = r#"[{"id": 1, "name": "a, \"b\"", "n": 2.5}, {"n": true, "name": null, "id": "2"}]"#;
    let json = rows::json(json.as_bytes(), "u.json").expect("it is JSON");
    assert_eq!(rows(&csv), [["1", "a, \"b\"", "2.5"], ["2", "", "true"]]);
    for (row, column) in [(0, "id"), (0, "name"), (0, "n"), (1, "id"), (1, "name"), (1, "n")] {
        let value = |table: &Table| table.value(row, table.column(column).expect("it has the column"));
        assert_eq!(value(&csv), value(&json));
    }
    assert_eq!(
        (csv.column("x"), csv.value(2, 0), csv.value(0, 3), csv.value(u64::MAX, 1)),
        (None, String::new(), String::new(), String::new())
    );
}

#[test]
fn generated_rows_are_computed_on_access() {
    let table = Table::generate("user-{0098..10000000}@x").expect("it is a pattern");
    assert_eq!(table.rows(), 10_000_000 - 97);
    assert_eq!((table.value(0, 0), table.value(2, 0)), ("user-0098@x".into(), "user-0100@x".into()));
    assert_eq!(table.value(table.rows() - 1, 0), "user-10000000@x");
    assert_eq!((table.value(table.rows(), 0), table.value(0, 1)), (String::new(), String::new()));
}

#[test]
fn errors_contain_file_and_line() {
    let csv = |text: &str| rows::csv(text.as_bytes(), "u.csv").expect_err(text).to_string();
    let json = |text: &str| rows::json(text.as_bytes(), "u.json").expect_err(text).to_string();
    let made = |text: &str| Table::generate(text).expect_err(text).to_string();
    let all = [
        csv("a,b\n1,2\n\n3\n"),
        csv(""),
        csv("a,a\n1,2\n"),
        csv("a\n"),
        rows::csv(b"a\n\xff\n", "u.csv").expect_err("it is not UTF-8").to_string(),
        json("[]"),
        json("[{\"a\": 1},\n{\"a\": }]"),
        json("[{\"a\": 1}, {\"b\": 1}]"),
        json("[{\"a\": 1, \"b\": 2}, {\"a\": 1}]"),
        json("[{\"a\": []}]"),
        made("user"),
        made("user-{1..x}"),
        made("user-{5..1}"),
        made("user-{1..99999999}"),
        made("{1..2}{3..4}"),
    ];
    assert_snapshot!(all.join("\n"), @r"
    u.csv:4: this row has 1 field, the header line has 2; give every row a value for each column
    u.csv: it is empty; its first line must name the columns
    u.csv:1: column 2 needs a unique name: `a`
    u.csv: it has no rows; add one or more
    u.csv:2: not readable as CSV: CSV parse error: record 1 (line 2, field: 0, byte: 2): invalid utf-8: invalid UTF-8 in field 0 near byte index 0
    u.json: it has no rows; add one or more
    u.json:2: not an array of flat objects: expected value at line 2 column 7
    u.json: row 2: the first row has no `b`; give all rows the same fields
    u.json: row 2: `b` is missing; give all rows the same fields
    u.json: row 1: `a` is not flat; use a text, number or boolean
    user: there is no `{`: write a text with one range, such as `user-{1..10000}`
    user-{1..x}: `x` is not a whole number: write a text with one range, such as `user-{1..10000}`
    user-{5..1}: the range goes down: write `{1..5}`
    user-{1..99999999}: there are more than 10000000 rows: make the range smaller
    {1..2}{3..4}: there is more than one range: write a text with one range, such as `user-{1..10000}`
    ");
}

proptest! {
    #[test]
    fn no_bytes_make_the_readers_panic(text in "[a-c,\"\n\\[{}:0-9.]{0,60}") {
        let _ = rows::csv(text.as_bytes(), "x");
        let _ = rows::json(text.as_bytes(), "x");
        let _ = Table::generate(&text);
    }
}
