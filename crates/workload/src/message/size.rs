//! How much memory an encoded message takes once it is decoded, before it is: two bytes may be an empty message of a
//! thousand fields.

use prost::bytes::Buf as _;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use prost_reflect::{EnumDescriptor, Kind, MessageDescriptor};

/// The most memory that one message takes, decoded and as JSON, as estimated from its fields.
pub(super) const MOST_BYTES: usize = 256 << 20;
/// Messages inside one another.
const MOST_NESTED: usize = 100;

/// A message with a field: nodes of two trees, decoded and as JSON.
const MESSAGE_BYTES: usize = 1_600;
/// A field of a message's type, which has a value in its JSON in any case, besides its name.
const FIELD_BYTES: usize = 160;
/// An item of a list that grows by doubling, decoded and as JSON.
const VALUE_BYTES: usize = 160;
const ANY: &str = "google.protobuf.Any";

/// The memory that is left for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct MessageBudget(usize);

impl Default for MessageBudget {
    fn default() -> Self {
        MessageBudget(MOST_BYTES)
    }
}

impl MessageBudget {
    /// Takes what the message `bytes` of this type needs. Of bytes that are not such a message it takes anything: decoding
    /// refuses them.
    ///
    /// # Errors
    /// In words, when there is not enough left.
    pub(super) fn take_message(&mut self, of: &MessageDescriptor, bytes: &[u8]) -> Result<(), String> {
        self.message(of, bytes, 0)
    }

    pub(super) fn taken_bytes(&self) -> usize {
        MOST_BYTES - self.0
    }

    /// Takes `count` times `bytes`.
    ///
    /// # Errors
    /// In words, when there is not enough left.
    pub(super) fn take(&mut self, count: usize, bytes: usize) -> Result<(), String> {
        let left = count.checked_mul(bytes).and_then(|bytes| self.0.checked_sub(bytes));
        self.0 = left.ok_or_else(|| format!("it takes more than {} MiB decoded", MOST_BYTES >> 20))?;
        Ok(())
    }

    fn message(&mut self, of: &MessageDescriptor, mut bytes: &[u8], depth: usize) -> Result<(), String> {
        if depth > MOST_NESTED {
            return Err(format!("its messages are nested deeper than {MOST_NESTED}"));
        }
        self.take(1, if bytes.is_empty() { VALUE_BYTES } else { MESSAGE_BYTES })?;
        of.fields()
            .try_for_each(|field| self.take(1, FIELD_BYTES + name_bytes(field.json_name(), &field.kind())))?;
        let is_any = of.full_name() == ANY;
        let mut contained = None;
        while let Ok((number, wire_type)) = decode_key(&mut bytes) {
            self.take(1, VALUE_BYTES)?;
            let kind = self.kind(of, number)?;
            if wire_type != WireType::LengthDelimited {
                let value = bytes;
                self.skip(number, wire_type, &mut bytes)?;
                if let (Some(Kind::Enum(of)), WireType::Varint) = (kind, wire_type) {
                    self.enum_values(&of, &value[..value.len() - bytes.len()])?;
                }
                continue;
            }
            let Some(payload) = payload(&mut bytes) else { break };
            match kind {
                Some(kind) => self.value(&kind, payload, depth)?,
                None => self.take(1, payload.len())?,
            }
            match number {
                1 if is_any => contained = type_named(of, payload),
                2 if is_any => {
                    let Some(contained) = &contained else {
                        return Err(format!("a {ANY} does not begin with the name of a known type"));
                    };
                    self.message(contained, payload, depth + 1)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What the field of this number holds, if the description has it. An extension is written with its name only where
    /// it has a value.
    fn kind(&mut self, of: &MessageDescriptor, number: u32) -> Result<Option<Kind>, String> {
        if let Some(field) = of.get_field(number) {
            return Ok(Some(field.kind()));
        }
        let Some(extension) = of.get_extension(number) else { return Ok(None) };
        self.take(1, extension.json_name().len())?;
        Ok(Some(extension.kind()))
    }

    fn value(&mut self, kind: &Kind, payload: &[u8], depth: usize) -> Result<(), String> {
        match kind {
            Kind::Message(of) => self.message(of, payload, depth + 1),
            // Text as it is, bytes in base64.
            Kind::String | Kind::Bytes => self.take(payload.len(), 3),
            // A packed list.
            Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => self.take(payload.len() / 8, VALUE_BYTES),
            Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => self.take(payload.len() / 4, VALUE_BYTES),
            Kind::Enum(of) => self.enum_values(of, payload),
            _ => self.take(payload.iter().filter(|byte| **byte < 0x80).count(), VALUE_BYTES),
        }
    }

    /// Values that follow one another; each is written as its name.
    fn enum_values(&mut self, of: &EnumDescriptor, mut values: &[u8]) -> Result<(), String> {
        while let Ok(number) = decode_varint(&mut values) {
            let name = of.get_value(number as i32).map_or(0, |value| value.name().len());
            self.take(1, VALUE_BYTES + name)?;
        }
        Ok(())
    }

    fn skip(&mut self, number: u32, wire_type: WireType, bytes: &mut &[u8]) -> Result<(), String> {
        let before = bytes.len();
        if skip_field(wire_type, number, bytes, DecodeContext::default()).is_err() {
            // Decoding ends here, too.
            *bytes = &[];
        }
        // A group is a message, and may contain one in every two bytes.
        let messages = if wire_type == WireType::StartGroup { (before - bytes.len()).div_ceil(2) } else { 0 };
        self.take(messages, MESSAGE_BYTES)
    }
}

/// The names in the JSON of a field without a value: its own, and that of its enum's default.
fn name_bytes(json_name: &str, kind: &Kind) -> usize {
    let Kind::Enum(of) = kind else { return json_name.len() };
    json_name.len() + of.default_value().name().len()
}

/// The bytes of a field that begins with their number.
fn payload<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(decode_varint(bytes).ok()?).ok()?;
    let payload = bytes.get(..length)?;
    bytes.advance(length);
    Some(payload)
}

fn type_named(any: &MessageDescriptor, url: &[u8]) -> Option<MessageDescriptor> {
    let url = std::str::from_utf8(url).ok()?;
    any.parent_pool().get_message_by_name(url.rsplit('/').next()?)
}

/// How many fields the messages in the field `number` of a message have together.
pub(super) fn count_fields(mut message: &[u8], number: u32) -> usize {
    let mut count = 0;
    while let Ok((found, wire_type)) = decode_key(&mut message) {
        if wire_type == WireType::LengthDelimited {
            let Some(payload) = payload(&mut message) else { break };
            count += if found == number { fields(payload) } else { 0 };
        } else if skip_field(wire_type, found, &mut message, DecodeContext::default()).is_err() {
            break;
        }
    }
    count
}

fn fields(mut message: &[u8]) -> usize {
    let mut count = 0;
    while let Ok((number, wire_type)) = decode_key(&mut message) {
        count += 1;
        if skip_field(wire_type, number, &mut message, DecodeContext::default()).is_err() {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use crate::message::{Method, testing};

    const PROTO: &str = "syntax = \"proto3\"; package t; import \"google/protobuf/any.proto\";
        message M { repeated M all = 1; repeated int32 numbers = 2; string text = 3; bytes raw = 4;
            google.protobuf.Any any = 5; map<string, int32> counts = 6; }
        service S { rpc Do (M) returns (M); }";

    fn method_of(proto: &str) -> Method {
        testing::described(proto).method("x", "t.S/Do").unwrap()
    }

    fn method() -> Method {
        method_of(PROTO)
    }

    /// Inside a field of this tag.
    fn inside(tag: u8, payload: &[u8]) -> Vec<u8> {
        let mut field = vec![tag];
        prost::encoding::encode_varint(payload.len() as u64, &mut field);
        field.extend_from_slice(payload);
        field
    }

    #[test]
    fn messages_that_take_much_more_than_their_bytes_are_not_decoded() {
        let method = method();
        let refusal = |bytes: &[u8]| method.decode_to_json(bytes).unwrap_err().to_string();
        for piece in [&b"\x0a\0"[..], b"\x0a\x02\x10\x01", b"\x32\0", b"\x38\x01", b"\x4b\x4c"] {
            let error = refusal(&piece.repeat((8 << 20) / piece.len()));
            assert!(error.contains("more than 256 MiB decoded"), "{piece:?}: {error}");
        }
        let packed = inside(0x12, &vec![1; 4 << 20]);
        assert!(refusal(&packed).contains("more than 256 MiB decoded"));
        let name = inside(0x0a, b"type.googleapis.com/t.M");
        let mut any = b"\x1a\x01x".to_vec();
        for _ in 0..10_000 {
            any = inside(0x2a, &[&name[..], &inside(0x12, &any)].concat());
        }
        assert!(refusal(&any).contains("nested deeper than 100"));
        let unnamed = inside(0x2a, &[inside(0x12, b""), name].concat());
        assert!(refusal(&unnamed).contains("does not begin with the name"));
    }

    #[test]
    fn names_in_the_json_count_as_often_as_they_are_written() {
        let long = "N".repeat(2_000);
        let method = method_of(&format!(
            "syntax = \"proto2\"; package t;
            enum E {{ {long} = 0; SHORT = 1; }}
            message Keyed {{ repeated int32 x = 1 [json_name = \"{long}\"]; }}
            message M {{ repeated Keyed keyed = 1; repeated E packed = 2 [packed = true]; repeated E one_by_one = 3;
                extensions 4 to 5; }}
            extend M {{ repeated M more = 4; optional int32 {long}x = 5; }}
            service S {{ rpc Do (M) returns (M); }}"
        ));
        let json = |bytes: &[u8]| method.decode_to_json(bytes).map(drop).map_err(|error| error.to_string());
        let extended = inside(0x22, b"\x28\x01");
        let pieces = [b"\x0a\0".to_vec(), inside(0x12, &[0; 10]), b"\x18\0".to_vec(), extended.clone()];
        for piece in pieces {
            assert_eq!(json(&piece.repeat(1_000)), Ok(()), "{piece:?}");
            let error = json(&piece.repeat(140_000)).unwrap_err();
            assert!(error.contains("more than 256 MiB decoded"), "{piece:?}: {error}");
        }
        let error = json(&inside(0x22, &b"\x22\0".repeat(2 << 20))).unwrap_err();
        assert!(error.contains("more than 256 MiB decoded"), "messages in an extension: {error}");
        assert_eq!(json(&b"\x18\x01".repeat(140_000)), Ok(()), "a short name of the same enum");
    }

    #[test]
    fn large_messages_of_few_fields_are_decoded() {
        let method = method();
        let raw = inside(0x22, &vec![7; 8 << 20]);
        assert!(method.decode_to_json(&raw).is_ok());
        let rows = inside(0x0a, b"\x1a\x05hello\x10\x01").repeat(50_000);
        let json = method.decode_to_json(&rows).unwrap();
        assert_eq!(json["all"].as_array().map(Vec::len), Some(50_000));
        assert_eq!(json["all"][7]["text"], "hello");
    }
}
