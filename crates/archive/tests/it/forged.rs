//! What may lie beside a run file that was received: rollback journals and logs, forged byte by byte.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What every header and every super-journal record of a rollback journal begins or ends with.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// The header of a journal takes one sector.
const SECTOR: u32 = 512;
/// The byte of a database file that processes lock; its page is never used for data.
const LOCK_BYTE: u32 = 0x4000_0000;

/// A hot rollback journal of the database file at `path` that changes no page and names `super_journal`, which SQLite
/// deletes once it has played the journal.
pub(crate) fn journal(path: &Path, super_journal: &Path) -> Vec<u8> {
    let database = fs::read(path).unwrap();
    let page = match u16::from_be_bytes([database[16], database[17]]) {
        1 => 65_536,
        size => u32::from(size),
    };
    let pages = u32::try_from(database.len()).unwrap() / page;
    let mut bytes = JOURNAL_MAGIC.to_vec();
    // No records, a nonce, the size to cut the database to, and the sizes of sectors and pages.
    for word in [0, 1, pages, SECTOR, page] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.resize(SECTOR as usize, 0);
    let name = super_journal.as_os_str().as_bytes();
    let checksum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    bytes.extend((LOCK_BYTE / page + 1).to_be_bytes());
    bytes.extend(name);
    bytes.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
    bytes.extend(checksum.to_be_bytes());
    bytes.extend(JOURNAL_MAGIC);
    bytes
}

/// A write-ahead log of one frame, a commit, that puts `page` in the place of the first page; its checksums are right.
pub(crate) fn log(page: &[u8]) -> Vec<u8> {
    let size = u32::try_from(page.len()).unwrap();
    let mut bytes = Vec::new();
    // Checksums in the order of big-endian words, the format's version, the page size, a count and two salts.
    for word in [0x377f_0683, 3_007_000, size, 0, 7, 9] {
        bytes.extend(u32::to_be_bytes(word));
    }
    let sum = checksum((0, 0), &bytes);
    bytes.extend([sum.0.to_be_bytes(), sum.1.to_be_bytes()].concat());
    let pages_after = 1u32;
    let head = [1u32.to_be_bytes(), pages_after.to_be_bytes()].concat();
    let sum = checksum(checksum(sum, &head), page);
    bytes.extend(head);
    for word in [7, 9, sum.0, sum.1] {
        bytes.extend(u32::to_be_bytes(word));
    }
    bytes.extend(page);
    bytes
}

fn checksum(mut sum: (u32, u32), bytes: &[u8]) -> (u32, u32) {
    for pair in bytes.chunks_exact(8) {
        let word = |at: usize| u32::from_be_bytes([pair[at], pair[at + 1], pair[at + 2], pair[at + 3]]);
        sum.0 = sum.0.wrapping_add(word(0)).wrapping_add(sum.1);
        sum.1 = sum.1.wrapping_add(word(4)).wrapping_add(sum.0);
    }
    sum
}

/// Every file of `folder` with its content, in order.
pub(crate) fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = paths.map(|path| (path.clone(), fs::read(&path).unwrap_or_default())).collect();
    files.sort();
    files
}
