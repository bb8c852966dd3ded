//! Writes every value of a script's metrics to files, on a thread of its own, so that no loop waits for a disk.

use std::collections::BTreeSet;
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

use super::{MetricLines, OutputError, ValueFormat, ValueTarget};
use crate::options::SystemTags;
use crate::summary::{CsvColumns, Sample, SampleTime};
use crate::{AddedValues, ValueOutput, ValueSink};

/// How many values may wait to be written; what comes beyond is counted and left out.
const WAITING_VALUES: usize = 500_000;
/// System tags that have no column of their own.
const METADATA: [&str; 2] = ["iter", "vu"];

/// Values on their way to the files. None ends them.
type Batch = Option<AddedValues>;

#[derive(Debug, Default)]
struct Counts {
    waiting: AtomicUsize,
    lost: AtomicU64,
}

/// Writes a text to standard output.
type WriteOut = fn(&str) -> io::Result<()>;

/// Values that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ValueFilesError {
    /// A file could not be written.
    #[error("the values of -o were not written completely: {0}")]
    Write(#[from] io::Error),
    /// The thread that writes them ended early.
    #[error("the values of -o were not written completely")]
    Ended,
}

/// What became of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueFilesEnd {
    /// How many came faster than they could be written, and were left out.
    pub lost: u64,
}

/// Writes values to files until it is dropped.
pub struct ValueFiles {
    batches: Sender<Batch>,
    counts: Arc<Counts>,
    system_tags: SystemTags,
    writer: Option<JoinHandle<io::Result<()>>>,
}

impl ValueFiles {
    /// Begins these files. None where there are none.
    ///
    /// # Errors
    /// [`OutputError`] when a file cannot be made.
    pub fn start(
        targets: &[ValueTarget],
        system_tags: &SystemTags,
        announced: &MetricLines,
        standard_output: fn(&str) -> io::Result<()>,
    ) -> Result<Option<ValueFiles>, OutputError> {
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
            let destination = Destination::open(target.path.as_deref(), standard_output)?;
            files.push(ValueFile { lines, destination });
        }
        let (batches, written) = channel();
        let counts = Arc::new(Counts::default());
        let taken = counts.clone();
        let writer = std::thread::Builder::new()
            .name("values".to_owned())
            .spawn(move || write_all(&mut files, &written, &taken))
            .map_err(OutputError::Thread)?;
        Ok(Some(ValueFiles { batches, counts, system_tags: system_tags.clone(), writer: Some(writer) }))
    }

    /// What scripts give their values to.
    pub fn output(&self) -> ValueOutput {
        ValueOutput { sink: self.sink(), system_tags: self.system_tags.clone() }
    }

    /// Takes values without waiting.
    fn sink(&self) -> ValueSink {
        sink(self.batches.clone(), self.counts.clone(), WAITING_VALUES)
    }

    /// Waits until what has come so far is written.
    ///
    /// # Errors
    /// [`ValueFilesError`] when not all of it could be written.
    pub fn finish(mut self) -> Result<ValueFilesEnd, ValueFilesError> {
        self.join()?;
        Ok(ValueFilesEnd { lost: self.counts.lost.load(Ordering::Relaxed) })
    }

    fn join(&mut self) -> Result<(), ValueFilesError> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        // A writer that is gone has failed, and says why.
        let _ = self.batches.send(None);
        writer.join().map_err(|_| ValueFilesError::Ended)??;
        Ok(())
    }
}

/// Waits until what has come so far is written.
impl Drop for ValueFiles {
    fn drop(&mut self) {
        // `finish` returns the error.
        let _ = self.join();
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
    StandardOutput(WriteOut),
    File(BufWriter<File>),
    /// None when it is complete.
    Compressed(Option<GzEncoder<BufWriter<File>>>),
}

impl Destination {
    fn open(path: Option<&Path>, standard_output: WriteOut) -> Result<Destination, OutputError> {
        let Some(path) = path else { return Ok(Destination::StandardOutput(standard_output)) };
        let unwritable = |error| OutputError::File { path: path.to_owned(), error };
        let file = File::create(path).map_err(unwritable)?;
        let file = BufWriter::new(file);
        Ok(match path.extension().is_some_and(|ending| ending == "gz") {
            true => Destination::Compressed(Some(GzEncoder::new(file, Compression::default()))),
            false => Destination::File(file),
        })
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        match self {
            Destination::StandardOutput(write) => write(text),
            Destination::File(file) => file.write_all(text.as_bytes()),
            Destination::Compressed(Some(file)) => file.write_all(text.as_bytes()),
            Destination::Compressed(None) => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            Destination::StandardOutput(_) => Ok(()),
            Destination::File(file) => file.flush(),
            Destination::Compressed(file) => file.take().map_or(Ok(()), |file| file.finish()?.flush()),
        }
    }
}

#[cfg(test)]
mod tests {
    use evidence::Instant;

    use super::*;
    use crate::{AddedValue, ValueTags};

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
