//! `plimsoll completions`: what a shell reads to complete the command line.

use clap_complete::aot;
use conduct::failure::{CommandResult, Failure};
use conduct::standard_output;

use crate::arguments::{self, CompletionsArguments};

pub(crate) fn completions(arguments: &CompletionsArguments) -> CommandResult<u8> {
    let mut script = Vec::new();
    aot::generate(arguments.shell, &mut arguments::command(), "plimsoll", &mut script);
    standard_output::print_document(&String::from_utf8(script).map_err(Failure::own)?)?;
    Ok(0)
}
