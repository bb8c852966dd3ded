//! The slow log: how many entries it got between two queries.
//!
//! Entries are numbered from the server's start on. `SLOWLOG RESET` empties the log and leaves the numbers, so that of an
//! empty log the next number is not known.

use ::redis::{Value, cmd};

use super::connection::BoundedConnection;
use super::info::Info;

/// What one query found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlowLog {
    newest: Newest,
    /// How many entries are in it: read only where all of them are new.
    length: Option<u64>,
    /// How often it was emptied, where the server counts that (since Redis 7).
    resets: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Newest {
    /// The number of the newest entry.
    Entry(u64),
    /// There is no entry.
    None,
    /// It may not be read.
    Unreadable,
}

impl SlowLog {
    /// Reads it; `base` is what the last query found.
    pub(super) fn read(
        connection: &mut BoundedConnection,
        info: &Info<'_>,
        base: Option<&SlowLog>,
    ) -> SlowLog {
        let (mut newest, mut length) = (newest_of(connection), None);
        let was_empty = base.is_some_and(|base| base.newest == Newest::None);
        if was_empty && newest != Newest::None {
            length = untrimmed_length(connection);
            let after = newest_of(connection);
            // Entries that came in between are in the length, or not.
            length = length.filter(|_| after == newest);
            newest = after;
        }
        SlowLog { newest, length, resets: info.calls("slowlog|reset") }
    }

    pub(super) fn is_readable(&self) -> bool {
        self.newest != Newest::Unreadable
    }

    /// Entries that were added since `base`; none where that is not known.
    pub(super) fn added_since(&self, base: &SlowLog) -> Option<u64> {
        let was_reset = self.resets.unwrap_or(0) != base.resets.unwrap_or(0);
        match (base.newest, self.newest) {
            (Newest::Entry(before), Newest::Entry(now)) => now.checked_sub(before),
            // What there was has been removed, and what came before that with it.
            _ if was_reset => None,
            (Newest::None, Newest::None) => Some(0),
            (Newest::None, Newest::Entry(now)) => match self.length {
                Some(length) => Some(length),
                // The server has never had any before.
                None if now == 0 => Some(1),
                None => None,
            },
            _ => None,
        }
    }
}

fn newest_of(connection: &mut BoundedConnection) -> Newest {
    let entries: Result<Vec<Vec<Value>>, _> = cmd("SLOWLOG").arg("GET").arg(1).query(connection);
    match entries.as_deref().map(|entries| entries.first().and_then(|entry| entry.first())) {
        Ok(Some(Value::Int(number))) => u64::try_from(*number).map_or(Newest::Unreadable, Newest::Entry),
        Ok(None) => Newest::None,
        Ok(Some(_)) | Err(_) => Newest::Unreadable,
    }
}

/// The number of entries; none where the oldest may have been dropped.
fn untrimmed_length(connection: &mut BoundedConnection) -> Option<u64> {
    let length: u64 = cmd("SLOWLOG").arg("LEN").query(connection).ok()?;
    let most: Vec<String> = cmd("CONFIG").arg("GET").arg("slowlog-max-len").query(connection).ok()?;
    let most: u64 = most.get(1)?.parse().ok()?;
    (length < most).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(newest: Newest, length: Option<u64>, resets: u64) -> SlowLog {
        SlowLog { newest, length, resets: Some(resets) }
    }

    #[test]
    fn numbers_show_how_many_entries_are_new() {
        let base = log(Newest::Entry(41), None, 0);
        assert_eq!(log(Newest::Entry(44), None, 0).added_since(&base), Some(3));
        assert_eq!(log(Newest::Entry(44), None, 1).added_since(&base), Some(3), "numbers outlast a reset");
        assert_eq!(log(Newest::Entry(2), None, 0).added_since(&base), None);
        assert_eq!(log(Newest::Unreadable, None, 0).added_since(&base), None);
    }

    #[test]
    fn an_emptied_log_is_a_gap_and_neither_a_zero_nor_a_spike() {
        let (base, empty) = (log(Newest::Entry(41), None, 0), log(Newest::None, None, 1));
        assert_eq!(empty.added_since(&base), None);
        assert_eq!(empty.added_since(&empty), Some(0));
        assert_eq!(log(Newest::None, None, 2).added_since(&empty), None, "emptied again");
        assert_eq!(log(Newest::Entry(57), Some(2), 1).added_since(&empty), Some(2));
        assert_eq!(log(Newest::Entry(57), None, 1).added_since(&empty), None, "older ones were dropped");
        assert_eq!(log(Newest::Entry(57), Some(2), 2).added_since(&empty), None);
    }

    #[test]
    fn the_first_entry_of_a_server_is_counted() {
        let never = SlowLog { newest: Newest::None, length: None, resets: None };
        assert_eq!(SlowLog { newest: Newest::Entry(0), ..never }.added_since(&never), Some(1));
    }
}
