//! `plimsoll capacity`: the highest load at which objectives hold, found by probes and shown with its interval; or the probes of
//! an earlier search, judged.

pub(crate) mod definition;

use anyhow::Context;
use conduct::failure::{CommandResult, Failure};
use conduct::signals::Listener;
use experiments::record::Record;
use experiments::search::{self, Search};
use experiments::session;

use crate::arguments::CapacityArguments;
use crate::outputs::{self, PreopenedReports};
use ::report::Detail;

pub(crate) fn capacity(arguments: &CapacityArguments) -> CommandResult<u8> {
    let asked = &arguments.session;
    let (summary, reports) = if let Some(folder) = &asked.judge {
        let mut record = Record::<Search>::read(folder)?;
        let search = &mut record.design.search;
        search.at_least = arguments.search.at_least.or(search.at_least);
        let reports = PreopenedReports::all(asked.outputs.files.named())?;
        (record.judged_again(folder)?, reports)
    } else {
        let listener = Listener::start()?;
        let drafts = tempfile::tempdir().context("no temporary folder can be made").map_err(Failure::own)?;
        let search = search::prepared(definition::read(arguments, drafts.path())?)?;
        let made = session::run::<Search>(&listener, &search, &asked.options())?;
        (made.summary(), PreopenedReports::default())
    };
    outputs::write(&summary, &asked.outputs, Detail::Full, &reports)?;
    Ok(outputs::exit_code(summary.judgement.verdict, asked.outputs.on_inconclusive()))
}
