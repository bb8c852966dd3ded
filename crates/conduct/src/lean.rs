//! A crate that was built without the feature `full`: what it lacks is refused when it is asked for.

use anyhow::anyhow;

use crate::failure::{CommandResult, Failure};

/// What is said of something that this program was built without.
///
/// # Errors
/// Always.
pub fn refused<T>(what: &str) -> CommandResult<T> {
    Err(Failure::Usage(anyhow!(
        "this program was built without {what}, as `cargo xtask demo` does to begin sooner; \
         `cargo build --package plimsoll` builds one with it"
    )))
}

pub(crate) mod live_output {
    use crate::failure::CommandResult;
    use crate::run_request::OutTarget;
    use crate::tick_readers::MakeReaders;

    pub(crate) fn with_readers(
        others: Option<MakeReaders>,
        outs: &[OutTarget],
        _run: &str,
    ) -> CommandResult<Option<MakeReaders>> {
        if outs.is_empty() { Ok(others) } else { super::refused("live outputs (--out)") }
    }
}

pub mod live_page {
    use std::path::Path;

    use report::{Document, Percentiles};

    use crate::failure::CommandResult;
    use crate::live_address::LiveAddress;
    use crate::marks::Marker;

    /// There is none.
    pub enum LivePage {}

    pub(crate) enum Rendering {}

    impl Rendering {
        pub(crate) fn watch(&self, _loops: u16) -> crate::decider::LookTimer {
            match *self {}
        }
    }

    impl LivePage {
        /// # Errors
        /// Always.
        pub fn open(_: &LiveAddress, _name: &str, _: Option<Percentiles>) -> CommandResult<LivePage> {
            super::refused("the live page (--live)")
        }

        pub(crate) fn begin(&self, _: &Path, _: Marker) -> CommandResult<Rendering> {
            match *self {}
        }

        pub fn finish(&self, _: &Document) {
            match *self {}
        }
    }
}

pub mod workers;
