//! Writes every value of a script's metrics to files, on a thread of its own, so that no loop waits for a disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use evidence::Name;
use flate2::Compression;
use flate2::write::GzEncoder;
use k6::options::SystemTags;
use k6::summary::{CsvColumns, Sample, SampleTime};
use k6::{AddedValues, ValueOutput, ValueSink};

use super::value_output::{ValueFormat, ValueTarget, unusable};
use crate::failure::{CommandResult, Failure};
use crate::{outputs, screen};

/// How many values may wait to be written; what comes beyond is counted and left out.
const WAITING_VALUES: usize = 500_000;
/// System tags that have no column of their own.
const METADATA: [&str; 2] = ["iter", "vu"];

/// The line that announces each metric in JSON, by the metric's name.
pub(super) type MetricLines = BTreeMap<String, String>;

/// Values on their way to the files. None ends them.
type Batch = Option<AddedValues>;

#[derive(Debug, Default)]
struct Counts {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

/// Writes values to files until it is dropped.
pub(super) struct ValueFiles {
    batches: Sender<Batch>,
    counts: Arc<Counts>,
    system_tags: SystemTags,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl ValueFiles {
    /// Begin these files. None where there are none.
    pub(super) fn start(
        targets: &[ValueTarget],
        system_tags: &SystemTags,
        announced: MetricLines,
    ) -> CommandResult<Option<ValueFiles>> {
        if targets.is_empty() {
            return Ok(None);
        }
        let columns = || system_tags.names().filter(|name| !METADATA.contains(name)).map(str::to_owned);
        let mut files = Vec::new();
        for target in targets {
            let lines = match target.format {
                ValueFormat::Json => Lines::Json { announced: announced.clone(), met: BTreeSet::new() },
                ValueFormat::Csv(times) => Lines::Csv(CsvColumns::new(columns(), times)),
            };
            let destination = Destination::open(target.path.as_deref())?;
            files.push(ValueFile { lines, destination });
        }
        let (batches, written) = channel();
        let counts = Arc::new(Counts::default());
        let taken = counts.clone();
        let writer = std::thread::Builder::new()
            .name("values".to_owned())
            .spawn(move || write_all(&mut files, &written, &taken))
            .map_err(Failure::own)?;
        Ok(Some(ValueFiles { batches, counts, system_tags: system_tags.clone(), writer: Some(writer) }))
    }

    /// What scripts give their values to.
    pub(super) fn output(&self) -> ValueOutput {
        ValueOutput { sink: self.sink(), system_tags: self.system_tags.clone() }
    }

    /// Takes values without waiting.
    pub(super) fn sink(&self) -> ValueSink {
        sink(self.batches.clone(), self.counts.clone(), WAITING_VALUES)
    }

    fn finish(&mut self) {
        let Some(writer) = self.writer.take() else { return };
        // A writer that is gone has failed, and says why.
        let _ = self.batches.send(None);
        match writer.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                outputs::note(format_args!("the values of -o were not written completely: {error}"))
            }
            Err(_) => outputs::note("the values of -o were not written completely"),
        }
        let lost = self.counts.lost.load(Ordering::Relaxed);
        if lost > 0 {
            outputs::note(format_args!(
                "{lost} values came faster than -o could write them and are not in its files; the summary has them"
            ));
        }
    }
}

/// Waits until what has come so far is written.
impl Drop for ValueFiles {
    fn drop(&mut self) {
        self.finish();
    }
}

fn sink(batches: Sender<Batch>, counts: Arc<Counts>, most: usize) -> ValueSink {
    Arc::new(move |added| {
        let count = added.values.len();
        let was_waiting = counts.waiting.fetch_add(count, Ordering::Relaxed);
        if was_waiting + count > most || batches.send(Some(added)).is_err() {
            counts.waiting.fetch_sub(count, Ordering::Relaxed);
            counts.lost.fetch_add(count as u64, Ordering::Relaxed);
        }
    })
}

fn write_all(files: &mut [ValueFile], batches: &Receiver<Batch>, counts: &Counts) -> io::Result<()> {
    files.iter_mut().try_for_each(ValueFile::begin)?;
    while let Ok(Some(batch)) = batches.recv() {
        files.iter_mut().try_for_each(|file| file.write(&batch))?;
        counts.waiting.fetch_sub(batch.values.len(), Ordering::Relaxed);
    }
    files.iter_mut().try_for_each(|file| file.destination.finish())
}

struct ValueFile {
    lines: Lines,
    destination: Destination,
}

enum Lines {
    /// Each metric is announced before its first value.
    Json {
        announced: MetricLines,
        met: BTreeSet<Name>,
    },
    Csv(CsvColumns),
}

impl ValueFile {
    fn begin(&mut self) -> io::Result<()> {
        match &self.lines {
            Lines::Json { .. } => Ok(()),
            Lines::Csv(columns) => self.destination.put(&format!("{}\n", columns.header())),
        }
    }

    fn write(&mut self, batch: &AddedValues) -> io::Result<()> {
        let mut text = String::new();
        for added in &batch.values {
            let unix_ns = batch.epoch_unix_ns + i128::from(added.at.as_nanos());
            let sample = Sample {
                metric: &added.metric,
                time: SampleTime { unix_ns: unix_ns as i64, offset_s: 0 },
                value: added.value,
                tags: &added.tags.tags,
                metadata: &added.tags.metadata,
            };
            let line = match &mut self.lines {
                Lines::Json { announced, met } => {
                    if met.insert(added.metric.clone())
                        && let Some(line) = announced.get(&*added.metric)
                    {
                        text.extend([line, "\n"]);
                    }
                    sample.json()
                }
                Lines::Csv(columns) => columns.line(&sample),
            };
            text.extend([&line, "\n"]);
        }
        self.destination.put(&text)
    }
}

enum Destination {
    StandardOutput,
    File(BufWriter<File>),
    /// None when it is complete.
    Compressed(Option<GzEncoder<BufWriter<File>>>),
}

impl Destination {
    fn open(path: Option<&Path>) -> CommandResult<Destination> {
        let Some(path) = path else { return Ok(Destination::StandardOutput) };
        let file = File::create(path)
            .map_err(|error| unusable(format_args!("cannot write {}: {error}", path.display())))?;
        let file = BufWriter::new(file);
        Ok(match path.extension().is_some_and(|ending| ending == "gz") {
            true => Destination::Compressed(Some(GzEncoder::new(file, Compression::default()))),
            false => Destination::File(file),
        })
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        match self {
            Destination::StandardOutput => screen::write_document(text),
            Destination::File(file) => file.write_all(text.as_bytes()),
            Destination::Compressed(Some(file)) => file.write_all(text.as_bytes()),
            Destination::Compressed(None) => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Destination::StandardOutput => Ok(()),
            Destination::File(file) => file.flush(),
            Destination::Compressed(file) => file.take().map_or(Ok(()), |file| file.finish()?.flush()),
        }
    }
}

#[cfg(test)]
mod tests {
    use evidence::Instant;
    use k6::{AddedValue, ValueTags};

    use super::*;

    fn batch(count: usize) -> AddedValues {
        let tags = Arc::new(ValueTags::default());
        let value = AddedValue { metric: "hits".into(), at: Instant::EPOCH, value: 1.0, tags };
        AddedValues { epoch_unix_ns: 0, values: vec![value; count] }
    }

    #[test]
    fn what_does_not_fit_is_counted_and_nothing_waits() {
        let (batches, written) = channel();
        let counts = Arc::new(Counts::default());
        let sink = sink(batches, counts.clone(), 10);
        for count in [6, 5, 4, 1] {
            sink(batch(count));
        }
        assert_eq!(counts.lost.load(Ordering::Relaxed), 6);
        assert_eq!(counts.waiting.load(Ordering::Relaxed), 10);
        drop(written);
        sink(batch(1));
        assert_eq!(counts.lost.load(Ordering::Relaxed), 7);
    }
}
