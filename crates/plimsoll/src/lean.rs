//! A program that was built without the feature `full`, as `cargo xtask demo` does to begin sooner: what it lacks is
//! refused when it is asked for.

pub(crate) mod completions {
    use conduct::failure::CommandResult;
    use conduct::lean::refused;

    use crate::arguments::CompletionsArguments;

    pub(crate) fn completions(_: &CompletionsArguments) -> CommandResult<u8> {
        refused("completions")
    }
}

pub(crate) mod import {
    use conduct::failure::CommandResult;
    use conduct::lean::refused;

    use crate::arguments::ImportArguments;

    pub(crate) fn import(_: &ImportArguments) -> CommandResult<u8> {
        refused("imports")
    }
}

pub(crate) mod kubernetes {
    use conduct::failure::CommandResult;
    use conduct::lean::refused;

    use crate::arguments::{FetchArguments, ManifestArguments, PodPart, RunArguments};

    const KUBERNETES: &str = "runs in Kubernetes";

    pub(crate) fn run(_: &RunArguments, _pods: u16) -> CommandResult<u8> {
        refused(KUBERNETES)
    }

    pub(crate) fn manifest(_: &ManifestArguments) -> CommandResult<u8> {
        refused(KUBERNETES)
    }

    pub(crate) fn fetch(_: &FetchArguments) -> CommandResult<u8> {
        refused(KUBERNETES)
    }

    pub(crate) fn pod(_: &PodPart) -> CommandResult<u8> {
        refused(KUBERNETES)
    }
}

pub(crate) mod man {
    use conduct::failure::CommandResult;
    use conduct::lean::refused;

    use crate::arguments::ManArguments;

    pub(crate) fn man(_: &ManArguments) -> CommandResult<u8> {
        refused("manual pages")
    }
}

pub(crate) mod new {
    use conduct::failure::CommandResult;
    use conduct::lean::refused;

    use crate::arguments::NewArguments;

    pub(crate) fn new(_: &NewArguments) -> CommandResult<u8> {
        refused("drafts of plans")
    }
}

pub(crate) mod simulation {
    use conduct::failure::CommandResult;
    use conduct::lean::refused;

    use crate::arguments::{SelftestExperimentsArguments, SelftestVerdictsArguments};

    const SIMULATION: &str = "simulated runs";

    pub(crate) fn verdicts(_: &SelftestVerdictsArguments) -> CommandResult<u8> {
        refused(SIMULATION)
    }

    pub(crate) fn experiments(_: &SelftestExperimentsArguments) -> CommandResult<u8> {
        refused(SIMULATION)
    }
}

pub(crate) mod worker {
    use conduct::failure::CommandResult;
    use conduct::lean::refused;

    use crate::arguments::WorkerArguments;

    pub(crate) fn worker(_: &WorkerArguments) -> CommandResult<u8> {
        refused("workers")
    }
}
