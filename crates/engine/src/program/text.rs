//! Templates compiled for the hot path: names resolved to places, chance to salts, literals joined.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use evidence::Instant;
use workload::data::Table;
use workload::draw::Draw;
use workload::model::Workload;
use workload::row_picker::RowPicker;
use workload::schedule::Segment;
use workload::template::{Part, Template, Value, push_json_escaped};

/// A compiled template.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Literal(Box<[u8]>),
    Data {
        set: usize,
        column: usize,
        picker: RowPicker,
    },
    Variable(usize),
    Random {
        low: i64,
        high: i64,
        salt: u64,
    },
    Choice {
        options: Vec<Box<[u8]>>,
        salt: u64,
    },
    Counter(usize),
    Iteration,
    VirtualUser,
    Uuid {
        salt: u64,
    },
    Now,
    /// The value, escaped for the inside of a JSON string.
    Json(Box<Piece>),
}

/// Where a template stands: it decides which rows of data files it gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) workload: &'a Workload,
    /// The scenario's place; one past the last for the run's setup.
    pub(crate) scenario: usize,
}

/// A counter's name and first number.
#[derive(Debug)]
pub(crate) struct CounterStart {
    name: String,
    start: u64,
}

/// Where each counter stands in one loop. Loops never give the same number: each takes those of its
/// segment, as it does with arrivals.
#[derive(Debug)]
pub(crate) struct Counters {
    next: Vec<Cell<u64>>,
    step: u64,
}

impl Counters {
    fn take(&self, counter: usize) -> u64 {
        self.next[counter].replace(self.next[counter].get().wrapping_add(self.step))
    }
}

/// What names in templates stand for, while a program is compiled.
#[derive(Debug, Default)]
pub(crate) struct Names {
    data: Vec<(String, Table)>,
    pub(crate) variables: Vec<String>,
    counters: Vec<CounterStart>,
    env: BTreeMap<String, String>,
    salts: u64,
}

/// Values for one rendering.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) names: &'a Names,
    pub(crate) draw: &'a Draw,
    /// Draws data rows: by arrival, and by virtual user in the steps each makes once.
    pub(crate) rows: &'a Draw,
    pub(crate) arrival: u64,
    pub(crate) virtual_user: u32,
    pub(crate) variables: &'a [Vec<u8>],
    pub(crate) counters: &'a Counters,
    pub(crate) now: Instant,
    /// Wall-clock nanoseconds since 1970 at the run's epoch.
    pub(crate) epoch_unix_ns: i128,
}

/// A name that stands for nothing. Plans are validated before, so it tells of a plan made elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`${{{0}}}` stands for nothing here")]
pub struct UnknownName(pub String);

impl Names {
    pub(crate) fn new(data: Vec<(String, Table)>, env: BTreeMap<String, String>) -> Self {
        Names { data, env, ..Names::default() }
    }

    /// The place of a variable, given now if it is new.
    pub(crate) fn variable(&mut self, name: &str) -> usize {
        if let Some(place) = self.variables.iter().position(|v| v == name) {
            return place;
        }
        self.variables.push(name.to_owned());
        self.variables.len() - 1
    }

    /// A number that no other use of chance in the program has.
    pub(crate) fn salt(&mut self) -> u64 {
        self.salts += 1;
        self.salts
    }

    /// The counters of the loop that is `segment`.
    pub(crate) fn counters_of(&self, segment: Segment) -> Counters {
        let first = |c: &CounterStart| Cell::new(c.start.wrapping_add(u64::from(segment.index)));
        Counters { next: self.counters.iter().map(first).collect(), step: u64::from(segment.count) }
    }

    pub(crate) fn compile(&mut self, template: &Template, at: Place<'_>) -> Result<Text, UnknownName> {
        let mut pieces: Vec<Piece> = Vec::with_capacity(template.parts().len());
        for part in template.parts() {
            let piece = match part {
                Part::Literal(text) => Piece::Literal(text.as_bytes().into()),
                Part::Value(value) => self.compile_value(value, at)?,
                Part::JsonValue(value) => Piece::Json(Box::new(self.compile_value(value, at)?)),
            };
            match (pieces.last_mut(), piece) {
                (Some(Piece::Literal(before)), Piece::Literal(more)) => {
                    *before = [&before[..], &more[..]].concat().into();
                }
                (_, piece) => pieces.push(piece),
            }
        }
        Ok(Text { pieces })
    }

    fn compile_value(&mut self, value: &Value, at: Place<'_>) -> Result<Piece, UnknownName> {
        Ok(match value {
            Value::Data { set, column } => {
                let unknown = || UnknownName(format!("{set}.{column}"));
                let place = self.data.iter().position(|(name, _)| name == set).ok_or_else(unknown)?;
                let column = self.data[place].1.column(column).ok_or_else(unknown)?;
                let picker = RowPicker::new(at.workload, at.scenario, set).ok_or_else(unknown)?;
                Piece::Data { set: place, column, picker }
            }
            Value::Variable(name) => Piece::Variable(self.variable(name)),
            Value::Env(name) => {
                let value = self.env.get(name).ok_or_else(|| UnknownName(format!("env.{name}")))?;
                Piece::Literal(value.as_bytes().into())
            }
            Value::Random { low, high } => Piece::Random { low: *low, high: *high, salt: self.salt() },
            Value::Choice(options) => Piece::Choice {
                options: options.iter().map(|o| o.as_bytes().into()).collect(),
                salt: self.salt(),
            },
            Value::Counter { name, start } => Piece::Counter(self.counter(name, *start)),
            Value::Iteration => Piece::Iteration,
            Value::VirtualUser => Piece::VirtualUser,
            Value::Uuid => Piece::Uuid { salt: self.salt() },
            Value::Now => Piece::Now,
        })
    }

    /// The column `step` of a data file: places below `steps`, one a row. None if there is no such column, or it
    /// holds anything else.
    pub(crate) fn places(&self, set: &str, steps: usize) -> Option<Arc<[u32]>> {
        let (_, table) = self.data.iter().find(|(name, _)| name == set)?;
        let column = table.column("step")?;
        let place = |row| table.value(row, column).parse().ok().filter(|place| (*place as usize) < steps);
        let places: Option<Arc<[u32]>> = (0..table.rows()).map(place).collect();
        places.filter(|places| !places.is_empty())
    }

    fn counter(&mut self, name: &str, start: u64) -> usize {
        if let Some(place) = self.counters.iter().position(|c| c.name == name) {
            return place;
        }
        self.counters.push(CounterStart { name: name.to_owned(), start });
        self.counters.len() - 1
    }
}

impl Text {
    /// A text without values.
    pub(crate) fn constant(bytes: &[u8]) -> Text {
        Text { pieces: vec![Piece::Literal(bytes.into())] }
    }

    /// What it always is; none if there is a value in it.
    pub(crate) fn as_constant(&self) -> Option<&[u8]> {
        match &self.pieces[..] {
            [] => Some(b""),
            [Piece::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Append the text with its values to `out`.
    pub(crate) fn render(&self, scope: &Scope<'_>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            piece.render(scope, out);
        }
    }
}

impl Piece {
    fn render(&self, scope: &Scope<'_>, out: &mut Vec<u8>) {
        match self {
            Piece::Literal(bytes) => out.extend_from_slice(bytes),
            Piece::Data { set, column, picker } => {
                scope.names.data[*set].1.write(picker.row(scope.rows), *column, out);
            }
            Piece::Variable(place) => {
                out.extend_from_slice(scope.variables.get(*place).map(Vec::as_slice).unwrap_or_default());
            }
            Piece::Random { low, high, salt } => write_signed(scope.draw.range(*salt, *low, *high), out),
            Piece::Choice { options, salt } => {
                let chosen = scope.draw.below(*salt, options.len() as u64);
                out.extend_from_slice(&options[chosen as usize]);
            }
            Piece::Counter(place) => write_unsigned(scope.counters.take(*place), out),
            Piece::Iteration => write_unsigned(scope.arrival, out),
            Piece::VirtualUser => write_unsigned(u64::from(scope.virtual_user), out),
            Piece::Uuid { salt } => write_uuid(scope.draw.uuid(*salt), out),
            Piece::Now => write_rfc3339(scope.epoch_unix_ns + i128::from(scope.now.as_nanos()), out),
            Piece::Json(piece) => {
                let start = out.len();
                piece.render(scope, out);
                if out[start..].iter().any(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')) {
                    let plain = out.split_off(start);
                    push_json_escaped(&plain, out);
                }
            }
        }
    }
}

fn write_unsigned(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn write_signed(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    write_unsigned(number.unsigned_abs(), out);
}

fn write_uuid(bytes: [u8; 16], out: &mut Vec<u8>) {
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        write_hex(*byte, out);
    }
}

pub(crate) fn write_hex(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

/// UTC with milliseconds. Days to a civil date by H. Hinnant's algorithm,
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
fn write_rfc3339(unix_ns: i128, out: &mut Vec<u8>) {
    use std::io::Write;
    let millis = i64::try_from(unix_ns.div_euclid(1_000_000)).unwrap_or(0);
    let (days, of_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (second, ms) = (of_day / 1_000, of_day % 1_000);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
        .expect("writing to a vector does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rfc3339(unix_ns: i128) -> String {
        let mut out = Vec::new();
        write_rfc3339(unix_ns, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_000_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(1_795_255_871_042_000_000), "2026-11-21T10:11:11.042Z");
    }

    #[test]
    fn numbers_are_written_to_their_ends() {
        let mut out = Vec::new();
        write_signed(i64::MIN, &mut out);
        out.push(b' ');
        write_unsigned(u64::MAX, &mut out);
        assert_eq!(out, b"-9223372036854775808 18446744073709551615");
    }
}
