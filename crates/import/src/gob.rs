//! Go's own encoding of values (`encoding/gob`), as far as vegeta's results need it: messages that define types, and values of
//! structures with fields of basic types, lists and maps.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};

/// The longest message that is read: a hit with the body of its response.
const MAX_MESSAGE: u64 = 64 << 20;
/// The most types that a file may define.
const MAX_TYPES: usize = 100;
/// The deepest nesting of values.
const MAX_DEPTH: usize = 8;

/// A value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GobValue {
    Int(i64),
    Uint(u64),
    Bytes(Vec<u8>),
    /// A list, a map or a nested structure, which is skipped.
    Other,
}

#[derive(Debug, Clone)]
enum Type {
    Struct(Vec<(String, i64)>),
    List(i64),
    Map(i64, i64),
    /// Bytes that the type itself encodes.
    Encoded,
}

#[derive(Debug)]
pub(crate) enum Message {
    /// A structure's fields by name.
    Value(BTreeMap<String, GobValue>),
    /// It cannot be read, for this reason.
    Malformed(String),
    /// The file ends within it.
    Cut,
    End,
}

/// The types that a file has defined so far.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    types: BTreeMap<i64, Type>,
}

impl Decoder {
    /// The next value.
    ///
    /// # Errors
    /// An error of the input.
    pub(crate) fn next(&mut self, input: &mut dyn BufRead) -> io::Result<Message> {
        loop {
            if input.fill_buf()?.is_empty() {
                return Ok(Message::End);
            }
            let Some(length) = length(input)? else { return Ok(Message::Cut) };
            if length > MAX_MESSAGE {
                return Ok(Message::Malformed(format!("a message of {length} bytes")));
            }
            let mut bytes = Vec::new();
            input.take(length).read_to_end(&mut bytes)?;
            if (bytes.len() as u64) < length {
                return Ok(Message::Cut);
            }
            let mut message = Bytes { rest: &bytes };
            match self.message(&mut message) {
                Some(Some(fields)) => return Ok(Message::Value(fields)),
                Some(None) => {}
                None => return Ok(Message::Malformed("a message that has no such form".to_owned())),
            }
        }
    }

    /// The fields of a value, or nothing of a definition.
    #[allow(clippy::option_option, reason = "none: it is malformed; some none: it is not a value")]
    fn message(&mut self, message: &mut Bytes<'_>) -> Option<Option<BTreeMap<String, GobValue>>> {
        let id = message.int()?;
        if id < 0 {
            if self.types.len() == MAX_TYPES {
                return None;
            }
            let definition = definition(message)?;
            self.types.insert(id.checked_neg()?, definition);
            return Some(None);
        }
        let Some(Type::Struct(fields)) = self.types.get(&id) else { return None };
        self.structure(fields, message, 0).map(Some)
    }

    fn structure(
        &self,
        fields: &[(String, i64)],
        message: &mut Bytes<'_>,
        depth: usize,
    ) -> Option<BTreeMap<String, GobValue>> {
        let mut found = BTreeMap::new();
        let mut at = usize::MAX;
        loop {
            let step = usize::try_from(message.uint()?).ok()?;
            if step == 0 {
                return Some(found);
            }
            at = at.wrapping_add(step);
            let (name, kind) = fields.get(at)?;
            found.insert(name.clone(), self.value(*kind, message, depth + 1)?);
        }
    }

    fn value(&self, kind: i64, message: &mut Bytes<'_>, depth: usize) -> Option<GobValue> {
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match (kind, self.types.get(&kind)) {
            (1 | 3, _) => GobValue::Uint(message.uint()?),
            (2, _) => GobValue::Int(message.int()?),
            (4, _) => {
                message.uint()?;
                GobValue::Other
            }
            (5 | 6, _) | (_, Some(Type::Encoded)) => GobValue::Bytes(message.bytes()?.to_vec()),
            (_, Some(Type::Struct(fields))) => {
                self.structure(fields, message, depth)?;
                GobValue::Other
            }
            (_, Some(Type::List(item))) => {
                for _ in 0..message.uint()? {
                    self.value(*item, message, depth + 1)?;
                }
                GobValue::Other
            }
            (_, Some(Type::Map(key, item))) => {
                for _ in 0..message.uint()? {
                    self.value(*key, message, depth + 1)?;
                    self.value(*item, message, depth + 1)?;
                }
                GobValue::Other
            }
            _ => return None,
        })
    }
}

/// A type: a structure of which one field says what kind it is.
fn definition(message: &mut Bytes<'_>) -> Option<Type> {
    let field = message.uint()?;
    let found = match field {
        2 => {
            let mut item = 0;
            named(message, |at, message| {
                (at == 2).then_some(())?;
                item = message.int()?;
                Some(())
            })?;
            Type::List(item)
        }
        3 => {
            let mut fields = Vec::new();
            named(message, |at, message| {
                (at == 2).then_some(())?;
                for _ in 0..message.uint()? {
                    fields.push(field_type(message)?);
                }
                Some(())
            })?;
            Type::Struct(fields)
        }
        4 => {
            let (mut key, mut item) = (0, 0);
            named(message, |at, message| {
                *(match at {
                    2 => &mut key,
                    3 => &mut item,
                    _ => return None,
                }) = message.int()?;
                Some(())
            })?;
            Type::Map(key, item)
        }
        5..=7 => {
            named(message, |_, _| None)?;
            Type::Encoded
        }
        _ => return None,
    };
    (message.uint()? == 0).then_some(found)
}

/// A structure whose first field is the common part of all types, its name and number; `each` reads the others.
fn named(message: &mut Bytes<'_>, mut each: impl FnMut(u64, &mut Bytes<'_>) -> Option<()>) -> Option<()> {
    let mut at = 0;
    loop {
        let step = message.uint()?;
        if step == 0 {
            return Some(());
        }
        at += step;
        match at {
            1 => {
                field_type(message)?;
            }
            at => each(at, message)?,
        }
    }
}

/// A name and the number of a type.
fn field_type(message: &mut Bytes<'_>) -> Option<(String, i64)> {
    let (mut name, mut id, mut at) = (String::new(), 0, 0);
    loop {
        let step = message.uint()?;
        if step == 0 {
            return Some((name, id));
        }
        at += step;
        match at {
            1 => name = String::from_utf8(message.bytes()?.to_vec()).ok()?,
            2 => id = message.int()?,
            _ => return None,
        }
    }
}

/// The length of a message; none if the file ends in it.
fn length(input: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let mut first = [0];
    input.read_exact(&mut first)?;
    let count = usize::from(first[0].wrapping_neg());
    if first[0] < 0x80 {
        return Ok(Some(u64::from(first[0])));
    }
    let mut bytes = Vec::new();
    input.take(count.min(8) as u64).read_to_end(&mut bytes)?;
    let value = bytes.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte));
    Ok((bytes.len() == count).then_some(value))
}

struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    /// Below 128 one byte; else the negated number of bytes, and these, the highest first.
    fn uint(&mut self) -> Option<u64> {
        let first = *self.take(1)?.first()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        let count = usize::from(first.wrapping_neg());
        let bytes = self.take(count).filter(|_| count <= 8)?;
        Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    /// The lowest bit says whether all others are inverted.
    fn int(&mut self) -> Option<i64> {
        let bits = self.uint()?;
        let value = i64::try_from(bits >> 1).ok()?;
        Some(if bits & 1 == 1 { !value } else { value })
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.uint()?).ok()?;
        self.take(length)
    }
}
