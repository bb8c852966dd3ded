//! A list of processors as `taskset` takes it: `0-3,6`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The highest number that a list may name.
const HIGHEST: u32 = 4_095;

/// Processors by their numbers; at least one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList {
    text: String,
    numbers: BTreeSet<u32>,
}

impl CpuList {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.numbers.len()
    }

    /// Whether no processor is in both lists.
    pub fn is_apart_from(&self, other: &CpuList) -> bool {
        self.numbers.is_disjoint(&other.numbers)
    }
}

/// A text that names no processors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of processors such as \"0-3,6\"")]
pub struct NotACpuList(String);

impl FromStr for CpuList {
    type Err = NotACpuList;

    fn from_str(text: &str) -> Result<CpuList, NotACpuList> {
        let wrong = || NotACpuList(text.to_owned());
        let number = |text: &str| text.parse::<u32>().ok().filter(|n| *n <= HIGHEST).ok_or_else(wrong);
        let mut numbers = BTreeSet::new();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (number(from)?, number(to)?);
            if from > to {
                return Err(wrong());
            }
            numbers.extend(from..=to);
        }
        Ok(CpuList { text: text.to_owned(), numbers })
    }
}

impl TryFrom<String> for CpuList {
    type Error = NotACpuList;

    fn try_from(text: String) -> Result<CpuList, NotACpuList> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> String {
        list.text
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_taskset_reads_them() {
        let list = |text: &str| text.parse::<CpuList>();
        assert_eq!(list("0-3,6").unwrap().count(), 5);
        assert_eq!(list("2").unwrap().to_string(), "2");
        assert!(list("0-1").unwrap().is_apart_from(&list("2,3").unwrap()));
        assert!(!list("0-2").unwrap().is_apart_from(&list("2,3").unwrap()));
        for wrong in ["", "a", "3-1", "0,", "-1", "1-", "5000", "0-5000"] {
            assert_eq!(list(wrong), Err(NotACpuList(wrong.to_owned())));
        }
    }
}
