//! `plimsoll completions`: what a shell reads to complete the command line.

use clap_complete::aot;

use crate::arguments::{self, CompletionsArguments};
use crate::failure::{CommandResult, Failure};
use crate::outputs;

pub(crate) fn completions(arguments: &CompletionsArguments) -> CommandResult<u8> {
    let mut script = Vec::new();
    aot::generate(arguments.shell, &mut arguments::command(), "plimsoll", &mut script);
    outputs::print_document(&String::from_utf8(script).map_err(Failure::own)?)?;
    Ok(0)
}
