//! A program that was built without the feature `full`, as `cargo xtask demo` does to begin sooner: what it lacks is
//! refused when it is asked for.

use anyhow::anyhow;

use crate::failure::{CommandResult, Failure};

/// What is said of something that this program was built without.
fn refused<T>(what: &str) -> CommandResult<T> {
    Err(Failure::Usage(anyhow!(
        "this program was built without {what}, as `cargo xtask demo` does to begin sooner; \
         `cargo build --package plimsoll` builds one with it"
    )))
}

pub(crate) mod completions {
    use crate::arguments::CompletionsArguments;
    use crate::failure::CommandResult;

    pub(crate) fn completions(_: &CompletionsArguments) -> CommandResult<u8> {
        super::refused("completions")
    }
}

pub(crate) mod import {
    use crate::arguments::ImportArguments;
    use crate::failure::CommandResult;

    pub(crate) fn import(_: &ImportArguments) -> CommandResult<u8> {
        super::refused("imports")
    }
}

pub(crate) mod kubernetes {
    use crate::arguments::{FetchArguments, ManifestArguments, PodPart, RunArguments};
    use crate::failure::CommandResult;

    const KUBERNETES: &str = "runs in Kubernetes";

    pub(crate) fn run(_: &RunArguments, _pods: u16) -> CommandResult<u8> {
        super::refused(KUBERNETES)
    }

    pub(crate) fn manifest(_: &ManifestArguments) -> CommandResult<u8> {
        super::refused(KUBERNETES)
    }

    pub(crate) fn fetch(_: &FetchArguments) -> CommandResult<u8> {
        super::refused(KUBERNETES)
    }

    pub(crate) fn pod(_: &PodPart) -> CommandResult<u8> {
        super::refused(KUBERNETES)
    }
}

pub(crate) mod live_output {
    use crate::arguments::OutTarget;
    use crate::failure::CommandResult;
    use crate::tick_readers::MakeReaders;

    pub(crate) fn with_readers(
        others: Option<MakeReaders>,
        outs: &[OutTarget],
        _run: &str,
    ) -> CommandResult<Option<MakeReaders>> {
        if outs.is_empty() { Ok(others) } else { super::refused("live outputs (--out)") }
    }
}

pub(crate) mod man {
    use crate::arguments::ManArguments;
    use crate::failure::CommandResult;

    pub(crate) fn man(_: &ManArguments) -> CommandResult<u8> {
        super::refused("manual pages")
    }
}

pub(crate) mod new {
    use crate::arguments::NewArguments;
    use crate::failure::CommandResult;

    pub(crate) fn new(_: &NewArguments) -> CommandResult<u8> {
        super::refused("drafts of plans")
    }
}

pub(crate) mod simulation {
    use crate::arguments::{SelftestExperimentsArguments, SelftestVerdictsArguments};
    use crate::failure::CommandResult;

    const SIMULATION: &str = "simulated runs";

    pub(crate) fn verdicts(_: &SelftestVerdictsArguments) -> CommandResult<u8> {
        super::refused(SIMULATION)
    }

    pub(crate) fn experiments(_: &SelftestExperimentsArguments) -> CommandResult<u8> {
        super::refused(SIMULATION)
    }
}

pub(crate) mod worker {
    use crate::arguments::WorkerArguments;
    use crate::failure::CommandResult;

    pub(crate) fn worker(_: &WorkerArguments) -> CommandResult<u8> {
        super::refused("workers")
    }
}

pub(crate) mod workers;
