//! A full disk: the writer reports it, and what was committed stays readable.

use archive::Stored;
use evidence::{KeyId, Run};

use crate::child::{Limit, Other};

/// The limit is the kernel's own, on the size of a file: a small one stops the log while it grows for the
/// first time, a larger one after it was folded into the file more than once.
#[test]
fn a_full_disk_is_reported_and_costs_the_last_second_only() {
    for blocks in [1_500, 12_000] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.plimsoll");
        let mut other = Other::start(&path, Limit::Blocks(blocks));
        let answer = other.order("fill");
        let (flushed, error) = answer.split_once(' ').unwrap();
        let flushed: u32 = flushed.parse().unwrap();
        assert!(error.contains("space") && error.contains("run.plimsoll"), "{error}");
        assert!(flushed > 0, "the limit left no space for one second");
        other.kill();
        let run = Stored::open(&path).unwrap();
        assert_eq!((run.seconds(), run.end()), (flushed, None));
        assert_eq!(run.total(KeyId(1)).unwrap(), u64::from(flushed) * 11);
    }
}
