//! Wire bytes with gaps, and how a gap is filled: the part of protobuf's encoding that gaps need.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use prost::encoding::encode_varint;
use prost_reflect::{DynamicMessage, EnumDescriptor, MessageDescriptor};

/// An encoded message with gaps for values. `T` is the source of a gap's text: a template, or its compiled form.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageTemplate<T> {
    /// The parts, in the order in which they are sent.
    pub parts: Vec<MessagePart<T>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MessagePart<T> {
    /// Encoded fields, tags included.
    Bytes(Vec<u8>),
    /// One field whose value is filled in for each message.
    Scalar(ScalarGap<T>),
    /// A field that is a message with gaps.
    Nested {
        tag: Vec<u8>,
        /// The inner message's parts.
        parts: Vec<MessagePart<T>>,
    },
}

/// A field whose value is filled in for each message.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarGap<T> {
    pub tag: Vec<u8>,
    /// How the rendered text is encoded.
    pub kind: ScalarKind,
    /// The field's full name, for errors.
    pub field: String,
    /// Whether the default (zero or empty) is sent: for an item of a list and for a field with presence.
    pub keep_default: bool,
    /// The source of the text.
    pub value: T,
}

/// How a rendered text becomes a field's value.
#[derive(Debug, Clone, PartialEq)]
pub enum ScalarKind {
    /// `double`.
    Double,
    /// `float`.
    Float,
    /// `int32`.
    Int32,
    /// `int64`.
    Int64,
    /// `uint32`.
    Uint32,
    /// `uint64`.
    Uint64,
    /// `sint32`.
    Sint32,
    /// `sint64`.
    Sint64,
    /// `fixed32`.
    Fixed32,
    /// `fixed64`.
    Fixed64,
    /// `sfixed32`.
    Sfixed32,
    /// `sfixed64`.
    Sfixed64,
    /// `bool`: `true` or `false`.
    Bool,
    /// `string`.
    String,
    /// `bytes`, as base64.
    Bytes,
    /// An enum, by name or number.
    Enum(EnumDescriptor),
    /// A message that protobuf's JSON mapping writes as a string: a timestamp, a duration, a field mask.
    Message(MessageDescriptor),
}

/// A rendered text that does not fit its field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` does not fit the field {field}, which takes {expected}")]
pub struct EncodeError {
    /// The field's full name.
    pub field: String,
    /// The rendered text, which may contain secrets.
    pub text: String,
    /// What the field takes.
    pub expected: &'static str,
}

impl<T> MessageTemplate<T> {
    /// The message with `f` applied to every gap's value.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> MessageTemplate<U> {
        MessageTemplate { parts: map_parts(self.parts, &mut f) }
    }

    /// Append the message to `out`. `render` appends the text of a gap; a numeric field's number is read from that
    /// text.
    ///
    /// Allocates nothing but what `out` needs, except for messages written as strings.
    ///
    /// # Errors
    /// [`EncodeError`] if a text does not fit its field; `out` then has its old length.
    pub fn encode(
        &self,
        render: &mut impl FnMut(&T, &mut Vec<u8>),
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let start = out.len();
        encode_parts(&self.parts, render, out).inspect_err(|_| out.truncate(start))
    }

    /// The values of all gaps, in order.
    pub fn gaps(&self) -> Vec<&T> {
        let mut found = Vec::new();
        collect(&self.parts, &mut found);
        found
    }
}

fn collect<'a, T>(parts: &'a [MessagePart<T>], found: &mut Vec<&'a T>) {
    for part in parts {
        match part {
            MessagePart::Bytes(_) => {}
            MessagePart::Scalar(gap) => found.push(&gap.value),
            MessagePart::Nested { parts, .. } => collect(parts, found),
        }
    }
}

fn map_parts<T, U>(parts: Vec<MessagePart<T>>, f: &mut impl FnMut(T) -> U) -> Vec<MessagePart<U>> {
    let mut mapped = Vec::with_capacity(parts.len());
    for part in parts {
        mapped.push(match part {
            MessagePart::Bytes(bytes) => MessagePart::Bytes(bytes),
            MessagePart::Scalar(ScalarGap { tag, kind, field, keep_default, value }) => {
                MessagePart::Scalar(ScalarGap { tag, kind, field, keep_default, value: f(value) })
            }
            MessagePart::Nested { tag, parts } => MessagePart::Nested { tag, parts: map_parts(parts, f) },
        });
    }
    mapped
}

fn encode_parts<T>(
    parts: &[MessagePart<T>],
    render: &mut impl FnMut(&T, &mut Vec<u8>),
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    for part in parts {
        match part {
            MessagePart::Bytes(bytes) => out.extend_from_slice(bytes),
            MessagePart::Nested { tag, parts } => {
                out.extend_from_slice(tag);
                let start = out.len();
                encode_parts(parts, render, out)?;
                prefix_length(start, out);
            }
            MessagePart::Scalar(gap) => {
                let before = out.len();
                out.extend_from_slice(&gap.tag);
                let start = out.len();
                render(&gap.value, out);
                gap.kind.encode(start, out).ok_or_else(|| gap.error(&out[start..]))?;
                // Every default, including the length of an empty text, is encoded as zero bytes.
                if !gap.keep_default && out[start..].iter().all(|byte| *byte == 0) {
                    out.truncate(before);
                }
            }
        }
    }
    Ok(())
}

impl<T> ScalarGap<T> {
    fn error(&self, text: &[u8]) -> EncodeError {
        let text = String::from_utf8_lossy(text).into_owned();
        EncodeError { field: self.field.clone(), text, expected: self.kind.expected() }
    }
}

/// Insert at `start` the length of the bytes that follow it.
fn prefix_length(start: usize, out: &mut Vec<u8>) {
    let length = out.len() - start;
    encode_varint(length as u64, out);
    let prefix = out.len() - start - length;
    out[start..].rotate_right(prefix);
}

impl ScalarKind {
    /// Replace the text after `start` by its encoded value; none if it does not fit, with the text unchanged.
    fn encode(&self, start: usize, out: &mut Vec<u8>) -> Option<()> {
        match self {
            ScalarKind::String => {
                std::str::from_utf8(&out[start..]).ok()?;
                prefix_length(start, out);
            }
            ScalarKind::Bytes => decode_base64(start, out)?,
            ScalarKind::Message(descriptor) => {
                let text = std::str::from_utf8(&out[start..]).ok()?;
                let json = serde_json::Value::String(text.to_owned());
                let message = DynamicMessage::deserialize(descriptor.clone(), json).ok()?;
                out.truncate(start);
                message.encode(out).ok()?;
                prefix_length(start, out);
            }
            _ => {
                let number = self.number(std::str::from_utf8(&out[start..]).ok()?.trim())?;
                out.truncate(start);
                match number {
                    Number::Varint(n) => encode_varint(n, out),
                    Number::Four(bytes) => out.extend_from_slice(&bytes),
                    Number::Eight(bytes) => out.extend_from_slice(&bytes),
                }
            }
        }
        Some(())
    }

    fn number(&self, text: &str) -> Option<Number> {
        Some(match self {
            ScalarKind::Double => Number::Eight(text.parse::<f64>().ok()?.to_le_bytes()),
            ScalarKind::Float => Number::Four(text.parse::<f32>().ok()?.to_le_bytes()),
            ScalarKind::Int32 => Number::Varint(i64::from(whole::<i32>(text)?) as u64),
            ScalarKind::Int64 => Number::Varint(whole::<i64>(text)? as u64),
            ScalarKind::Uint32 => Number::Varint(u64::from(whole::<u32>(text)?)),
            ScalarKind::Uint64 => Number::Varint(whole::<u64>(text)?),
            ScalarKind::Sint32 => Number::Varint(zigzag(i64::from(whole::<i32>(text)?))),
            ScalarKind::Sint64 => Number::Varint(zigzag(whole::<i64>(text)?)),
            ScalarKind::Fixed32 => Number::Four(whole::<u32>(text)?.to_le_bytes()),
            ScalarKind::Fixed64 => Number::Eight(whole::<u64>(text)?.to_le_bytes()),
            ScalarKind::Sfixed32 => Number::Four(whole::<i32>(text)?.to_le_bytes()),
            ScalarKind::Sfixed64 => Number::Eight(whole::<i64>(text)?.to_le_bytes()),
            ScalarKind::Bool => Number::Varint(u64::from(text.parse::<bool>().ok()?)),
            ScalarKind::Enum(descriptor) => {
                let named = descriptor.get_value_by_name(text).map(|value| value.number());
                Number::Varint(i64::from(named.or_else(|| whole::<i32>(text))?) as u64)
            }
            ScalarKind::String | ScalarKind::Bytes | ScalarKind::Message(_) => return None,
        })
    }

    fn expected(&self) -> &'static str {
        match self {
            ScalarKind::Double | ScalarKind::Float => "a number",
            ScalarKind::Int32 | ScalarKind::Sint32 | ScalarKind::Sfixed32 => {
                "a whole number from -2147483648 to 2147483647"
            }
            ScalarKind::Int64 | ScalarKind::Sint64 | ScalarKind::Sfixed64 => "a whole number of 64 bits",
            ScalarKind::Uint32 | ScalarKind::Fixed32 => "a whole number from 0 to 4294967295",
            ScalarKind::Uint64 | ScalarKind::Fixed64 => "a whole number from 0 of 64 bits",
            ScalarKind::Bool => "`true` or `false`",
            ScalarKind::String => "text in UTF-8",
            ScalarKind::Bytes => "base64",
            ScalarKind::Enum(_) => "one of its names or a number",
            ScalarKind::Message(_) => "a text in the form that protobuf's JSON mapping gives it",
        }
    }
}

/// An encoded number without its tag.
enum Number {
    Varint(u64),
    Four([u8; 4]),
    Eight([u8; 8]),
}

/// A whole number; `5.0` and `1e3` are whole numbers too.
fn whole<N: std::str::FromStr + TryFrom<i64>>(text: &str) -> Option<N> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let float = text.parse::<f64>().ok().filter(|f| f.fract() == 0.0)?;
    // Beyond 2⁵³ not every whole number has a float of its own.
    N::try_from((float.abs() <= 9_007_199_254_740_992.0).then_some(float as i64)?).ok()
}

/// Protobuf's mapping of signed to unsigned: 0, −1, 1, −2 … to 0, 1, 2, 3 …
fn zigzag(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// Replace the base64 after `start` by the decoded bytes, preceded by their length.
fn decode_base64(start: usize, out: &mut Vec<u8>) -> Option<()> {
    let end = out.len();
    out.resize(end + base64::decoded_len_estimate(end - start), 0);
    let (text, space) = out.split_at_mut(end);
    let Ok(length) = STANDARD.decode_slice(&text[start..], space) else {
        out.truncate(end);
        return None;
    };
    out.copy_within(end..end + length, start);
    out.truncate(start + length);
    prefix_length(start, out);
    Some(())
}
