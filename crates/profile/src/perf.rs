//! The output of `perf script -F period,ip,sym,dso` as a profile, for targets that serve none.

use crate::build::{Builder, Frame};
use crate::error::MergeError;
use crate::model::{Profile, ValueType};

/// A frame whose function or binary perf does not know.
const UNKNOWN: &str = "[unknown]";

/// A profile of the processor time in `text`: of each sample a line with its period in nanoseconds (event `cpu-clock`),
/// then its frames, the innermost first, then an empty line. Lines of any other form are left out.
///
/// # Errors
/// [`MergeError::TooLarge`] when there is more than one profile can contain.
pub fn from_perf(text: &str) -> Result<Profile, MergeError> {
    let counted = |name: &str, unit: &str| ValueType { name: name.to_owned(), unit: unit.to_owned() };
    let mut builder = Builder::new(vec![counted("samples", "count"), counted("cpu", "nanoseconds")]);
    let (mut period, mut longest) = (None, 0);
    let mut frames: Vec<Frame<'_>> = Vec::new();
    // The last sample may lack the empty line.
    for line in text.lines().chain([""]) {
        let line = line.trim();
        if line.is_empty() {
            if let Some(nanos) = period.take() {
                frames.reverse();
                builder.sample(&frames, &[1, nanos])?;
                longest = longest.max(nanos);
            }
            frames.clear();
        } else if period.is_none() {
            period = line.trim_end_matches(':').parse::<i64>().ok().filter(|nanos| *nanos > 0);
        } else {
            frames.extend(frame(line));
        }
    }
    let mut profile = builder.finish();
    profile.period_type = counted("cpu", "nanoseconds");
    profile.period = longest;
    profile.default_sample_type = Some("cpu".to_owned());
    Ok(profile)
}

/// `ADDRESS FUNCTION (BINARY)`. Functions have blanks and parentheses of their own.
fn frame(line: &str) -> Option<Frame<'_>> {
    let (address, rest) = line.split_once(' ')?;
    u64::from_str_radix(address, 16).ok()?;
    let (function, binary) = rest.trim().rsplit_once(" (").unwrap_or((rest.trim(), ""));
    let binary = binary.trim_end_matches(')');
    match (function, binary) {
        // The end of a stack that perf could not follow further.
        (UNKNOWN, UNKNOWN) => None,
        // Code without symbols is shown as its binary.
        (UNKNOWN, binary) => Some(Frame { function: binary, binary }),
        (function, binary) => Some(Frame { function, binary }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::top::{Sort, TopOptions, top};
    use crate::view::{View, ViewOptions};

    const PRINTED: &str = "  10101010 \n\
        \tffffffff821e8f67 clear_page_erms ([kernel.kallsyms])\n\
        \t           98109 _int_malloc (/usr/lib/libc.so.6)\n\
        \t               0 [unknown] ([unknown])\n\
        \n\
        \x20 10101010 \n\
        \t           c51d0 <alloc::vec::Vec<T> as core::ops::Drop>::drop (inlined) (/usr/bin/shop)\n\
        \t           98109 _int_malloc (/usr/lib/libc.so.6)\n\
        \n\
        \x20 10101010 \n\
        \t            1234 [unknown] (/usr/bin/shop)\n";

    #[test]
    fn stacks_become_samples_of_processor_time() {
        let profile = from_perf(PRINTED).unwrap();
        let view = View::new(&profile, ViewOptions::default()).unwrap();
        let listed = top(&view, TopOptions { sort: Sort::Cumulative, most: 10, least_share: 0.0 });
        let rows: Vec<String> =
            listed.rows.iter().map(|row| format!("{} {} {}", row.flat, row.cumulative, row.name)).collect();
        assert_eq!(
            rows,
            [
                "0 20202020 _int_malloc",
                "10101010 10101010 /usr/bin/shop",
                "10101010 10101010 <alloc::vec::Vec<T> as core::ops::Drop>::drop (inlined)",
                "10101010 10101010 clear_page_erms",
            ]
        );
        assert_eq!((profile.period, listed.total), (10_101_010, 30_303_030));
    }

    proptest! {
        #[test]
        fn never_panics(text in "([ 0-9a-f\\n\\t():]|\\[unknown\\]|main){0,200}") {
            prop_assert!(from_perf(&text).is_ok());
        }
    }
}
