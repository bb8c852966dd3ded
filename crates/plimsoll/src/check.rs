//! `plimsoll check`: validate a plan and print what it would offer. Nothing is sent.

use workload::offer::offer;

use crate::arguments::CheckArguments;
use crate::failure::Outcome;
use crate::{outputs, plan};

pub(crate) fn check(arguments: &CheckArguments) -> Outcome<u8> {
    let plan = plan::resolve(&arguments.plan, &arguments.overrides)?;
    let text = offer(&plan.workload).render();
    outputs::print(&text)?;
    Ok(0)
}
