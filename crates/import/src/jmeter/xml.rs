//! JMeter's XML: an element for each sample, with attributes of one or two letters. Samples in a sample, such as the
//! redirects of a request, are parts of it; those of a transaction are requests.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;

use super::{Sample, SampleReader};
use crate::ImportError;
use crate::event::Receive;
use crate::lines::{LineError, Reading};
use crate::parse::first_characters;

/// The longest tag or text that is read, in bytes: a text may be a whole response.
const MAX_PART: usize = 16 << 20;
/// The deepest nesting of elements.
const MAX_DEPTH: usize = 100;

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut xml = Reader::from_reader(LimitedInput { input, left: MAX_PART });
    let mut results = Results::default();
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        xml.get_mut().left = MAX_PART;
        match xml.read_event_into(&mut buffer) {
            Ok(Event::Start(tag)) => {
                results.open(&tag, receiver)?;
                results.depth += 1;
            }
            Ok(Event::Empty(tag)) => {
                results.open(&tag, receiver)?;
                results.close();
            }
            Ok(Event::End(_)) => {
                results.depth = results.depth.saturating_sub(1);
                results.close();
            }
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(quick_xml::Error::Io(error)) => {
                return Err(ImportError::Read(io::Error::new(error.kind(), error.to_string())));
            }
            Err(error) if results.reading.records == 0 => {
                return Err(ImportError::Refused(format!("is not XML of JMeter: {error}")));
            }
            Err(_) => {
                results.depth = 1;
                break;
            }
        }
    }
    results.samples.finish(receiver)?;
    let Results { mut reading, depth, has_root, .. } = results;
    if !has_root {
        return Err(ImportError::Refused("has no `testResults`, unlike JMeter's XML".to_owned()));
    }
    reading.cut = (depth > 0).then_some(reading.records + 1);
    Ok(reading)
}

/// The elements that are open, and the samples so far.
#[derive(Default)]
struct Results {
    has_root: bool,
    depth: usize,
    /// How many of the open elements, from the root on, are transactions or the root.
    transactions: usize,
    samples: SampleReader,
    reading: Reading,
}

impl Results {
    fn open(&mut self, tag: &BytesStart<'_>, receiver: &mut dyn Receive) -> Result<(), ImportError> {
        if self.depth >= MAX_DEPTH {
            return Err(ImportError::Refused(format!(
                "has elements that are nested deeper than {MAX_DEPTH}"
            )));
        }
        if self.depth == 0 {
            self.has_root |= tag.name().as_ref() == b"testResults";
            self.transactions = usize::from(self.has_root);
            return Ok(());
        }
        if self.transactions < self.depth || !matches!(tag.name().as_ref(), b"sample" | b"httpSample") {
            return Ok(());
        }
        self.reading.records += 1;
        let received = sample(tag).and_then(|sample| {
            self.transactions += usize::from(sample.is_transaction());
            self.samples.receive(&sample, receiver)
        });
        self.reading.take(received)
    }

    fn close(&mut self) {
        self.transactions = self.transactions.min(self.depth);
    }
}

fn sample<'a>(tag: &'a BytesStart<'_>) -> Result<Sample<'a>, LineError> {
    let mut sample = Sample::default();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| LineError::Malformed(error.to_string()))?;
        let value = attribute.decoded_and_normalized_value(XmlVersion::Implicit1_0, tag.decoder());
        let value: Cow<'a, str> = value.map_err(|error| LineError::Malformed(error.to_string()))?;
        match attribute.key.as_ref() {
            b"t" => sample.elapsed = value,
            b"ts" => sample.started = value,
            b"s" => sample.success = value,
            b"lb" => sample.label = value,
            b"rc" => sample.code = value,
            b"rm" => sample.message = first_characters(&value, 100).into(),
            b"tn" => sample.thread = value,
            b"by" => sample.bytes = value,
            b"sby" => sample.sent_bytes = value,
            b"na" => sample.threads = value,
            b"sc" => sample.samples = value,
            b"ec" => sample.errors = value,
            b"it" => sample.idle = value,
            _ => {}
        }
    }
    Ok(sample)
}

/// An input that fails when more than `left` bytes are read of one part of the document.
struct LimitedInput<'i> {
    input: &'i mut dyn BufRead,
    left: usize,
}

impl Read for LimitedInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for LimitedInput<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.left == 0 {
            let why = format!("a tag or text is longer than {} MiB", MAX_PART >> 20);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let chunk = self.input.fill_buf()?;
        Ok(&chunk[..chunk.len().min(self.left)])
    }

    fn consume(&mut self, count: usize) {
        self.left -= count.min(self.left);
        self.input.consume(count);
    }
}
