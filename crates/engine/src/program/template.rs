//! Templates compiled for the hot path: names resolved to indexes, random values to salts, literals joined.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use evidence::Instant;
use jiff::Timestamp;
use workload::data::Table;
use workload::draw::{Draw, FIRST_EXTRA};
use workload::model::Workload;
use workload::row_picker::{RowPicker, RowTaker};
use workload::schedule::Segment;
use workload::template::{Part, Template, Value, push_json_escaped, push_url_encoded};

use crate::clock::Clock;

#[derive(Debug, Clone, Default)]
pub(crate) struct CompiledTemplate {
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone)]
enum TemplatePiece {
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
    Json(Box<TemplatePiece>),
    /// The value, percent-encoded.
    Url(Box<TemplatePiece>),
}

/// Who renders a template, which decides which rows of data files it gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TemplateContext<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) taker: RowTaker,
}

/// A counter's name and first number.
#[derive(Debug)]
pub(crate) struct CounterStart {
    name: String,
    start: u64,
}

/// The state of each counter in one loop. No two loops use the same number: each uses those of its segment, as it
/// does with arrivals.
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

/// The names that templates may use: data files, variables, counters and environment variables.
#[derive(Debug, Default)]
pub(crate) struct TemplateNames {
    data: Vec<(String, Table)>,
    pub(crate) variables: Vec<String>,
    counters: Vec<CounterStart>,
    pub(super) env: BTreeMap<String, String>,
    salts: u64,
}

/// The values for one rendering.
#[derive(Debug)]
pub(crate) struct RenderScope<'a> {
    pub(crate) names: &'a TemplateNames,
    pub(crate) draw: &'a Draw,
    /// Draws data rows: by virtual user in the setup of virtual users, else by arrival.
    pub(crate) rows: &'a Draw,
    pub(crate) arrival: u64,
    pub(crate) virtual_user: u32,
    pub(crate) variables: &'a [Arc<[u8]>],
    pub(crate) counters: &'a Counters,
    pub(crate) now: Instant,
    /// For the time of day.
    pub(crate) clock: Clock,
}

/// A name that is not defined. Plans are validated when they are loaded, so this means that a workload was made in
/// another way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`${{{0}}}` is not defined here")]
pub struct UnknownName(pub String);

impl TemplateNames {
    pub(crate) fn new(data: Vec<(String, Table)>, env: BTreeMap<String, String>) -> Self {
        TemplateNames { data, env, ..TemplateNames::default() }
    }

    /// The index of a variable, which is added if it is new.
    pub(crate) fn variable(&mut self, name: &str) -> usize {
        if let Some(index) = self.variables.iter().position(|v| v == name) {
            return index;
        }
        self.variables.push(name.to_owned());
        self.variables.len() - 1
    }

    /// A salt that no other random value of the program uses.
    pub(crate) fn salt(&mut self) -> u64 {
        self.salts += 1;
        self.salts
    }

    /// The counters of the loop that is `segment`.
    pub(crate) fn counters_of(&self, segment: Segment) -> Counters {
        let first = |c: &CounterStart| Cell::new(c.start.wrapping_add(u64::from(segment.index)));
        Counters { next: self.counters.iter().map(first).collect(), step: u64::from(segment.count) }
    }

    pub(crate) fn compile(
        &mut self,
        template: &Template,
        context: TemplateContext<'_>,
    ) -> Result<CompiledTemplate, UnknownName> {
        let mut pieces: Vec<TemplatePiece> = Vec::with_capacity(template.parts().len());
        for part in template.parts() {
            let piece = match part {
                Part::Literal(text) => TemplatePiece::Literal(text.as_bytes().into()),
                Part::Value(value) => self.compile_value(value, context)?,
                Part::JsonValue(value) => TemplatePiece::Json(Box::new(self.compile_value(value, context)?)),
                Part::UrlValue(value) => TemplatePiece::Url(Box::new(self.compile_value(value, context)?)),
            };
            match (pieces.last_mut(), piece) {
                (Some(TemplatePiece::Literal(before)), TemplatePiece::Literal(more)) => {
                    *before = [&before[..], &more[..]].concat().into();
                }
                (_, piece) => pieces.push(piece),
            }
        }
        Ok(CompiledTemplate { pieces })
    }

    fn compile_value(
        &mut self,
        value: &Value,
        context: TemplateContext<'_>,
    ) -> Result<TemplatePiece, UnknownName> {
        Ok(match value {
            Value::Data { set, column } => {
                let unknown = || UnknownName(format!("{set}.{column}"));
                let index = self.data.iter().position(|(name, _)| name == set).ok_or_else(unknown)?;
                let column = self.data[index].1.column(column).ok_or_else(unknown)?;
                let picker = RowPicker::new(context.workload, context.taker, set);
                TemplatePiece::Data { set: index, column, picker: picker.ok_or_else(unknown)? }
            }
            Value::Variable(name) => TemplatePiece::Variable(self.variable(name)),
            Value::Env(name) => {
                let value = self.env.get(name).ok_or_else(|| UnknownName(format!("env.{name}")))?;
                TemplatePiece::Literal(value.as_bytes().into())
            }
            Value::Random { low, high } => {
                TemplatePiece::Random { low: *low, high: *high, salt: self.salt() }
            }
            Value::Choice(options) => TemplatePiece::Choice {
                options: options.iter().map(|o| o.as_bytes().into()).collect(),
                salt: self.salt(),
            },
            Value::Counter { name, start } => TemplatePiece::Counter(self.counter(name, *start)),
            Value::Iteration => TemplatePiece::Iteration,
            Value::VirtualUser => TemplatePiece::VirtualUser,
            Value::Uuid => TemplatePiece::Uuid { salt: self.salt() },
            Value::Now => TemplatePiece::Now,
        })
    }

    /// The column `step` of a data file: one step index below `steps` in each row. None if there is no such column, or
    /// if it contains anything else.
    pub(crate) fn step_indexes(&self, set: &str, steps: usize) -> Option<Arc<[u32]>> {
        let (_, table) = self.data.iter().find(|(name, _)| name == set)?;
        let column = table.column("step")?;
        let index = |row| table.value(row, column).parse().ok().filter(|index| (*index as usize) < steps);
        let indexes: Option<Arc<[u32]>> = (0..table.rows()).map(index).collect();
        indexes.filter(|indexes| !indexes.is_empty())
    }

    fn counter(&mut self, name: &str, start: u64) -> usize {
        if let Some(index) = self.counters.iter().position(|c| c.name == name) {
            return index;
        }
        self.counters.push(CounterStart { name: name.to_owned(), start });
        self.counters.len() - 1
    }
}

impl CompiledTemplate {
    /// A text without values.
    pub(crate) fn constant(bytes: &[u8]) -> CompiledTemplate {
        CompiledTemplate { pieces: vec![TemplatePiece::Literal(bytes.into())] }
    }

    /// Its constant text; none if it contains a value.
    pub(crate) fn as_constant(&self) -> Option<&[u8]> {
        match &self.pieces[..] {
            [] => Some(b""),
            [TemplatePiece::Literal(bytes)] => Some(bytes),
            _ => None,
        }
    }

    /// Append the text with its values to `out`.
    pub(crate) fn render(&self, scope: &RenderScope<'_>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            piece.render(scope, out);
        }
    }
}

impl TemplatePiece {
    fn render(&self, scope: &RenderScope<'_>, out: &mut Vec<u8>) {
        match self {
            TemplatePiece::Literal(bytes) => out.extend_from_slice(bytes),
            TemplatePiece::Data { set, column, picker } => {
                scope.names.data[*set].1.write(picker.row(scope.rows), *column, out);
            }
            TemplatePiece::Variable(index) => {
                out.extend_from_slice(scope.variables.get(*index).map(AsRef::as_ref).unwrap_or_default());
            }
            TemplatePiece::Random { low, high, salt } => {
                write_signed(scope.draw.range(*salt, *low, *high), out)
            }
            TemplatePiece::Choice { options, salt } => {
                let chosen = scope.draw.below(*salt, options.len() as u64);
                out.extend_from_slice(&options[chosen as usize]);
            }
            TemplatePiece::Counter(index) => {
                // A request beside the schedule takes no number of it.
                let extra = if scope.draw.arrival() < FIRST_EXTRA { 0 } else { scope.draw.arrival() };
                write_unsigned(scope.counters.take(*index).wrapping_add(extra), out);
            }
            TemplatePiece::Iteration => write_unsigned(scope.arrival, out),
            TemplatePiece::VirtualUser => write_unsigned(u64::from(scope.virtual_user), out),
            TemplatePiece::Uuid { salt } => write_uuid(scope.draw.uuid(*salt), out),
            TemplatePiece::Now => write_rfc3339(scope.clock.unix_ns(scope.now), out),
            TemplatePiece::Json(piece) => {
                let start = out.len();
                piece.render(scope, out);
                if out[start..].iter().any(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')) {
                    let plain = out.split_off(start);
                    push_json_escaped(&plain, out);
                }
            }
            TemplatePiece::Url(piece) => {
                let start = out.len();
                piece.render(scope, out);
                let plain = out.split_off(start);
                push_url_encoded(&plain, out);
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

/// UTC with milliseconds (RFC 3339).
fn write_rfc3339(unix_ns: i128, out: &mut Vec<u8>) {
    let millis = i64::try_from(unix_ns.div_euclid(1_000_000)).unwrap_or(0);
    let time = Timestamp::from_millisecond(millis).unwrap_or_default();
    write!(out, "{time:.3}").expect("writing to a vector does not fail");
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
    fn times_are_written_as_rfc_3339_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_000_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(1_795_255_871_042_000_000), "2026-11-21T10:11:11.042Z");
    }

    #[test]
    fn the_extreme_numbers_are_written() {
        let mut out = Vec::new();
        write_signed(i64::MIN, &mut out);
        out.push(b' ');
        write_unsigned(u64::MAX, &mut out);
        assert_eq!(out, b"-9223372036854775808 18446744073709551615");
    }
}
