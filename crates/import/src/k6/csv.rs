//! `k6 run --out csv=FILE`: a header, then one point per line. Times are whole seconds unless k6 is configured otherwise.

use std::borrow::Cow;
use std::io::BufRead;

use super::{MetricPoint, Tags, receive};
use crate::ImportError;
use crate::event::Receive;
use crate::lines::{LineError, Reading, for_each_line};
use crate::parse::rfc3339;

/// A record of several lines that is longer than this has a quote without its end.
const MAX_RECORD: usize = 1 << 20;

/// The index of each column.
#[derive(Debug, Default)]
struct Columns {
    count: usize,
    indices: Vec<(String, usize)>,
}

impl Columns {
    fn of(header: &[Cow<'_, str>]) -> Columns {
        let indices = header.iter().enumerate().map(|(at, name)| (name.to_string(), at)).collect();
        Columns { count: header.len(), indices }
    }

    fn get<'r>(&self, record: &'r [Cow<'_, str>], name: &str) -> &'r str {
        let index = self.indices.iter().find(|(known, _)| known == name).map(|(_, at)| *at);
        index.and_then(|at| record.get(at)).map_or("", |field| field)
    }
}

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut columns = None;
    let mut open = String::new();
    let mut reading = for_each_line(input, |line| {
        let line = std::str::from_utf8(line).map_err(|_| LineError::from("not UTF-8"))?;
        let whole = if open.is_empty() {
            Cow::Borrowed(line)
        } else {
            Cow::Owned(format!("{}\n{line}", std::mem::take(&mut open)))
        };
        if whole.matches('"').count() % 2 == 1 {
            if whole.len() > MAX_RECORD {
                return Err("a quote that is never closed".into());
            }
            open = whole.into_owned();
            return Ok(());
        }
        let record = fields(&whole);
        match &columns {
            None => columns = Some(Columns::of(&record)),
            Some(columns) => point(columns, &record, receiver)?,
        }
        Ok(())
    })?;
    if !open.is_empty() {
        reading.cut.get_or_insert(reading.records);
    }
    Ok(reading)
}

fn point(columns: &Columns, record: &[Cow<'_, str>], receiver: &mut dyn Receive) -> Result<(), LineError> {
    if record.len() != columns.count {
        let why = format!("{} columns, the header has {}", record.len(), columns.count);
        return Err(LineError::Malformed(why));
    }
    let get = |name| columns.get(record, name);
    let value = get("metric_value").parse().map_err(|_| LineError::from("`metric_value` is not a number"))?;
    let tag = |name| Cow::Borrowed(get(name));
    let tags = Tags {
        scenario: tag("scenario"),
        name: tag("name"),
        url: tag("url"),
        method: tag("method"),
        status: tag("status"),
        error_code: tag("error_code"),
        expected_response: tag("expected_response"),
        check: tag("check"),
        group: tag("group"),
    };
    receive(&MetricPoint { metric: get("metric_name"), at: time(get("timestamp"))?, value, tags }, receiver)
}

/// Seconds since the Unix epoch, or milli-, micro- or nanoseconds, recognised by their size; or RFC 3339.
fn time(text: &str) -> Result<i64, LineError> {
    let Ok(number) = text.parse::<i64>() else { return rfc3339(text) };
    let unit = match number.unsigned_abs() {
        0..=99_999_999_999 => 1_000_000_000,
        100_000_000_000..=99_999_999_999_999 => 1_000_000,
        100_000_000_000_000..=99_999_999_999_999_999 => 1_000,
        _ => 1,
    };
    number.checked_mul(unit).ok_or_else(|| LineError::from("`timestamp` is out of range"))
}

/// The fields of one record; a quoted field may contain commas, line ends and doubled quotes.
fn fields(record: &str) -> Vec<Cow<'_, str>> {
    let mut fields = Vec::new();
    let mut rest = record;
    loop {
        let (field, tail) = match rest.strip_prefix('"') {
            Some(quoted) => unquoted(quoted),
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), &rest[end..])
            }
        };
        fields.push(field);
        match tail.strip_prefix(',') {
            Some(next) => rest = next,
            None => return fields,
        }
    }
}

/// A quoted field, and the rest of the record from the next comma on.
fn unquoted(quoted: &str) -> (Cow<'_, str>, &str) {
    let mut text = String::new();
    let mut rest = quoted;
    while let Some(at) = rest.find('"') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                text.push('"');
                rest = next;
            }
            None => {
                let comma = rest.find(',').unwrap_or(rest.len());
                return (Cow::Owned(text), &rest[comma..]);
            }
        }
    }
    text.push_str(rest);
    (Cow::Owned(text), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_fields_may_contain_separators() {
        assert_eq!(fields(r#"a,,"b,""c""",d"#), ["a", "", "b,\"c\"", "d"]);
        assert_eq!(fields("\"two\nlines\","), ["two\nlines", ""]);
        assert_eq!(fields(""), [""]);
    }

    #[test]
    fn a_time_is_the_same_instant_in_every_unit() {
        for text in ["1795294885", "1795294885000", "1795294885000000", "2026-11-21T21:01:25Z"] {
            assert_eq!(time(text).ok(), Some(1_795_294_885_000_000_000), "{text}");
        }
        assert!(time("noon").is_err() && time("").is_err());
    }
}
