//! Frames on their way to the socket, and whose they are.

use std::collections::VecDeque;

use crate::outgoing::Outgoing;

/// The stream of what belongs to the connection.
pub(super) const CONNECTION: u32 = 0;

/// Outgoing bytes, by stream.
#[derive(Debug, Default)]
pub(super) struct Output {
    bytes: Outgoing,
    /// The unsent bytes: runs of one stream, in order. Empty when everything is sent.
    runs: VecDeque<Run>,
}

/// Adjacent bytes of one stream.
#[derive(Debug)]
struct Run {
    stream: u32,
    bytes: usize,
}

impl Output {
    /// Append what `write` appends, for this stream, and say how many bytes that was.
    #[inline]
    pub(super) fn append(&mut self, stream: u32, write: impl FnOnce(&mut Vec<u8>)) -> u64 {
        let tail = self.bytes.tail();
        let before = tail.len();
        write(tail);
        let bytes = tail.len() - before;
        match self.runs.back_mut() {
            Some(run) if run.stream == stream => run.bytes += bytes,
            _ => self.runs.push_back(Run { stream, bytes }),
        }
        bytes as u64
    }

    pub(super) fn unsent(&self) -> &[u8] {
        self.bytes.unsent()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many of the unsent bytes are of this stream.
    pub(super) fn unsent_of(&self, stream: u32) -> u64 {
        self.runs.iter().filter(|run| run.stream == stream).map(|run| run.bytes as u64).sum()
    }

    /// The first `count` bytes are sent; more than there are counts as all.
    pub(super) fn advance(&mut self, mut count: usize) {
        self.bytes.advance(count);
        if self.bytes.is_empty() {
            return self.runs.clear();
        }
        while let Some(run) = self.runs.front_mut() {
            if run.bytes > count {
                run.bytes -= count;
                return;
            }
            count -= run.bytes;
            self.runs.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsent_bytes_are_counted_by_stream() {
        let mut output = Output::default();
        for (stream, bytes) in [(1, 10), (1, 5), (3, 20), (CONNECTION, 4), (1, 6)] {
            assert_eq!(output.append(stream, |out| out.extend(vec![0; bytes])), bytes as u64);
        }
        let unsent = |output: &Output| [1, 3, CONNECTION].map(|stream| output.unsent_of(stream));
        assert_eq!(unsent(&output), [21, 20, 4]);
        output.advance(12);
        assert_eq!(unsent(&output), [9, 20, 4]);
        output.advance(25);
        assert_eq!((unsent(&output), output.unsent().len()), ([6, 0, 2], 8));
        output.advance(usize::MAX);
        assert_eq!((unsent(&output), output.is_empty()), ([0, 0, 0], true));
    }
}
