//! `plimsoll check`: validate a plan and print what it would offer. Nothing is sent.

use std::io::Write;

use workload::offer::offer;

use crate::arguments::CheckArguments;
use crate::failure::{Failure, Outcome};
use crate::plan;

pub(crate) fn check(arguments: &CheckArguments) -> Outcome<u8> {
    let plan = plan::resolve(&arguments.plan, &arguments.overrides)?;
    let text = offer(&plan.workload).render();
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::own)?;
    Ok(0)
}
