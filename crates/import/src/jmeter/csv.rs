//! JMeter's CSV: a header in any order of columns, then one sample per record.

mod parts;

use std::borrow::Cow;
use std::io::BufRead;

use super::{Sample, SampleReader};
use crate::ImportError;
use crate::csv::for_each_record;
use crate::event::Receive;
use crate::lines::Reading;
use parts::Parts;

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut samples = SampleReader::default();
    let mut parts = Parts::default();
    for_each_record(input, |record| {
        let field = |name| Cow::Borrowed(record.get(name));
        let sample = Sample {
            label: field("label"),
            thread: field("threadName"),
            started: field("timeStamp"),
            elapsed: field("elapsed"),
            success: field("success"),
            code: field("responseCode"),
            message: field("responseMessage"),
            bytes: field("bytes"),
            sent_bytes: field("sentBytes"),
            threads: field("allThreads"),
            samples: field("SampleCount"),
        };
        if parts.contain(&sample, receiver)? {
            return Ok(());
        }
        samples.receive(&sample, receiver)
    })
}
