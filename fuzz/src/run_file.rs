//! Run files that were received, with what may lie beside them.
//!
//! An input is a list of changes to a sealed run file and to the files that SQLite looks for beside one, so that a few
//! bytes reach every page. Reading must change no file, neither beside the run file nor elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use archive::{ArchiveError, Overwrite, Stored, Writer};
use evidence::manifest::SCHEMA_VERSION;
use evidence::{Ending, Key, KeyId, Manifest, Metric, Outcome, Run, RunEnd, Sink, Tick};
use tempfile::TempDir;

use crate::Target;

/// The file itself, and the names of those beside it.
const ENDINGS: [&str; 4] = ["", "-wal", "-journal", "-shm"];
/// Changes after these are passed over.
const MOST_CHANGES: usize = 64;
/// The length that a file can be given.
const LONGEST: usize = 1 << 20;

pub(crate) const RUN_FILE: Target = Target {
    name: "run-file",
    seeds: &[
        // Nothing changed; a byte of the header, and one of the schema; cut in the middle.
        b"",
        b"w\0\0\0\x12\x02\x01w\0\0\0\x64\x01\xff",
        b"t\0\0\x40\0",
        // A log, and a journal, of a few bytes; a shared memory of zeros; a journal that names a file elsewhere.
        b"w\x01\0\0\0\x08\x37\x7f\x06\x82\0\x2d\xe2\x18",
        b"w\x02\0\0\0\x08\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",
        b"t\x03\0\x80\0",
        b"j",
        // A log whose checksums are right, with the first page changed.
        b"l\0\0\x20\x04\xff\xff\xff\xff",
    ],
    words: &[
        b"w\0\0",
        b"w\x01\0\0\0\x08\x37\x7f\x06\x82",
        b"l\0\0",
        b"l\x01\0\x10\x01\x00",
        b"t\0\0\x10\0",
        b"SQLite format 3\0",
        b"CREATE TABLE",
        b"j",
    ],
    run: |input| {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let elsewhere = sentinel();
        let files = changed(input, &elsewhere.path);
        for (ending, bytes) in &files {
            fs::write(folder.path().join(format!("run.plimsoll{ending}")), bytes)
                .expect("the folder is writable");
        }
        let before = [content(folder.path()), content(elsewhere.folder.path())];
        let read = read_all(&folder.path().join("run.plimsoll"));
        let after = [content(folder.path()), content(elsewhere.folder.path())];
        assert!(before == after, "reading has changed, made or removed a file");
        if let Err(error) = &read {
            assert!(!error.to_string().is_empty(), "an error has a message");
        }
        read.is_ok()
    },
    // A value may have 64 MiB, and is at most copied.
    most_bytes: 160 << 20,
    one_of: 20,
};

/// A folder that no case has to do with.
struct Sentinel {
    folder: TempDir,
    path: PathBuf,
}

fn sentinel() -> &'static Sentinel {
    static SENTINEL: OnceLock<Sentinel> = OnceLock::new();
    SENTINEL.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("thesis.txt");
        fs::write(&path, "three years of work\n").expect("the folder is writable");
        Sentinel { folder, path }
    })
}

/// Every file of a folder with its content.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten();
    entries.map(|entry| (entry.path(), fs::read(entry.path()).unwrap_or_default())).collect()
}

/// The files after the changes that `input` lists.
fn changed(input: &[u8], victim: &Path) -> BTreeMap<&'static str, Vec<u8>> {
    let mut files = BTreeMap::from([("", sealed().clone())]);
    let mut rest = input;
    for _ in 0..MOST_CHANGES {
        let [kind, tail @ ..] = rest else { break };
        rest = tail;
        match kind {
            // File, position, length, bytes.
            b'w' => {
                let [file, p2, p1, p0, length, tail @ ..] = rest else { break };
                let (bytes, tail) = tail.split_at(usize::from(*length).min(tail.len()));
                rest = tail;
                let content = files.entry(ENDINGS[usize::from(*file) % ENDINGS.len()]).or_default();
                let at = position(*p2, *p1, *p0);
                // Mostly within the file.
                let at = if *p2 < 0xf0 && !content.is_empty() { at % content.len() } else { at };
                write_at(content, at, bytes);
            }
            // File, length.
            b't' => {
                let [file, p2, p1, p0, tail @ ..] = rest else { break };
                rest = tail;
                let content = files.entry(ENDINGS[usize::from(*file) % ENDINGS.len()]).or_default();
                content.resize(position(*p2, *p1, *p0), 0);
            }
            // Position, length, bytes.
            b'l' => {
                let [p2, p1, p0, length, tail @ ..] = rest else { break };
                let (bytes, tail) = tail.split_at(usize::from(*length).min(tail.len()));
                rest = tail;
                let log = log(position(*p2, *p1, *p0), bytes);
                files.insert("-wal", log);
            }
            b'j' => drop(files.insert("-journal", journal(victim))),
            _ => {}
        }
    }
    files
}

fn position(high: u8, middle: u8, low: u8) -> usize {
    usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low)
}

fn write_at(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = (at + bytes.len()).min(LONGEST);
    let bytes = &bytes[..end.saturating_sub(at)];
    if content.len() < end {
        content.resize(end, 0);
    }
    content[end - bytes.len()..end].copy_from_slice(bytes);
}

/// A write-ahead log of one frame, a commit, in which these bytes of the file are changed; its checksums are right.
fn log(at: usize, bytes: &[u8]) -> Vec<u8> {
    let file = sealed();
    let size = match u16::from_be_bytes([file[16], file[17]]) {
        1 => 65_536,
        size => usize::from(size),
    };
    let pages = file.len() / size;
    let number = (at / size).min(pages - 1);
    let mut page = file[number * size..(number + 1) * size].to_vec();
    for (to, byte) in page.iter_mut().skip(at % size).zip(bytes) {
        *to = *byte;
    }
    let words =
        |words: &[usize]| -> Vec<u8> { words.iter().flat_map(|word| (*word as u32).to_be_bytes()).collect() };
    // Checksums of big-endian words, the format's version, the page size, a count and two salts.
    let mut log = words(&[0x377f_0683, 3_007_000, size, 0, 7, 9]);
    let sum = checksum([0, 0], &log);
    log.extend(sum.iter().flat_map(|word| word.to_be_bytes()));
    let head = words(&[number + 1, pages]);
    let sum = checksum(checksum(sum, &head), &page);
    log.extend(head);
    log.extend(words(&[7, 9]));
    log.extend(sum.iter().flat_map(|word| word.to_be_bytes()));
    log.extend(page);
    log
}

fn checksum([mut first, mut second]: [u32; 2], bytes: &[u8]) -> [u32; 2] {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| u32::from_be_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        first = first.wrapping_add(word(0)).wrapping_add(second);
        second = second.wrapping_add(word(4)).wrapping_add(first);
    }
    [first, second]
}

/// A rollback journal that changes no page and names `victim` as its super-journal, which SQLite deletes.
fn journal(victim: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    const SECTOR: u32 = 512;
    let file = sealed();
    let page = u32::from(u16::from_be_bytes([file[16], file[17]])).max(512);
    let mut journal = MAGIC.to_vec();
    for word in [0, 1, file.len() as u32 / page, SECTOR, page] {
        journal.extend(word.to_be_bytes());
    }
    journal.resize(SECTOR as usize, 0);
    let name = victim.as_os_str().as_bytes();
    let sum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    journal.extend((0x4000_0000 / page + 1).to_be_bytes());
    journal.extend(name);
    journal.extend((name.len() as u32).to_be_bytes());
    journal.extend(sum.to_be_bytes());
    journal.extend(MAGIC);
    journal
}

/// A sealed run file of two seconds.
fn sealed() -> &'static Vec<u8> {
    static SEALED: OnceLock<Vec<u8>> = OnceLock::new();
    SEALED.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("run.plimsoll");
        write_sealed(&path).expect("a run can be written");
        fs::read(&path).expect("the run was written")
    })
}

fn write_sealed(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let manifest = Manifest {
        schema_version: SCHEMA_VERSION,
        name: "demo".to_owned(),
        workload: serde_json::json!({}),
        workload_digest: "00ff".to_owned(),
        seed: 7,
        started_at: "2026-11-21T10:11:12Z".to_owned(),
        targets: BTreeMap::new(),
        environment: BTreeMap::new(),
        generator: BTreeMap::new(),
        source: None,
        workers: Vec::new(),
    };
    let mut writer = Writer::create(path, &manifest, Overwrite::Refuse)?;
    let of = |metric| Key::of(metric).scenario("play").endpoint("list").phase("steady");
    let keys = [of(Metric::ResponseTime).outcome(Outcome::Ok), of(Metric::Scheduled)];
    for second in 0..2 {
        let mut tick = Tick::default();
        tick.second = second;
        if second == 0 {
            tick.new_keys = (0..).map(KeyId).zip(keys.clone()).collect();
        }
        tick.record_ns(KeyId(0), 2_000_000);
        tick.add(KeyId(1), second, 1);
        writer.tick(&tick)?;
        writer.flush()?;
    }
    let ending = Ending::Completed;
    writer.end(&RunEnd {
        ending,
        last_second: 1,
        requests_in_flight: 0,
        iterations_in_flight: 0,
        folded_endpoints: 0,
        folded_ticks: 0,
    })?;
    Ok(())
}

/// Reads all that a file holds, as the commands do.
fn read_all(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let run = Stored::open(path).map_err(|error: ArchiveError| Box::new(error))?;
    let whole = run.whole();
    for (id, _) in run.keys() {
        run.histogram(*id, whole.clone())?;
        run.counts(*id, whole.clone())?;
        run.total(*id)?;
    }
    for series in run.series() {
        run.samples(series, whole.clone())?;
    }
    run.exemplars()?;
    run.notices()?;
    run.profiles()?;
    run.judgements()?;
    run.verify_digest()?;
    Ok(())
}
