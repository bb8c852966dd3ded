//! What a run reports of targets whose addresses changed while the load was offered.

use std::sync::mpsc::Sender;

use engine::Program;
use engine::program::AddressChange;
use evidence::{Notice, NoticeKind, Observed, SeriesKey};

/// Send a notice of each change of addresses that `program` has noticed.
pub(crate) fn report_address_changes(program: &Program, observed: &Sender<Observed>) {
    let notice = |AddressChange { at, text }| {
        let observer = SeriesKey::GENERATOR.to_owned();
        Notice { at, observer, instance: None, kind: NoticeKind::Remark, text }
    };
    let notices: Vec<Notice> = program.take_address_changes().into_iter().map(notice).collect();
    if !notices.is_empty() {
        // A recorder that is gone has reported why itself.
        let _ = observed.send(Observed { notices, ..Observed::default() });
    }
}
