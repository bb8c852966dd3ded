//! `plimsoll check`: validate a plan and print what it would offer. Nothing is sent.

use workload::offer::offer;

use crate::arguments::CheckArguments;
use crate::failure::CommandResult;
use crate::{outputs, plan};

pub(crate) fn check(arguments: &CheckArguments) -> CommandResult<u8> {
    let plan = plan::resolve(&arguments.plan, &arguments.overrides)?;
    let mut text = offer(&plan.workload).render();
    for target in plan.undescribed().keys() {
        text.line("").line(format_args!(
            "calls of `{target}` are not checked: it has no `proto`, and is described by server reflection when a run begins"
        ));
    }
    outputs::print(&text)?;
    Ok(0)
}
