//! A result in each form.

use report::{Detail, Reported, Style, document};

pub(crate) fn terminal(of: &impl Reported, style: Style, width: usize, detail: Detail) -> String {
    document::terminal(&of.document(), style, width, detail).to_string()
}

pub(crate) fn markdown(of: &impl Reported) -> String {
    document::markdown(&of.document())
}

pub(crate) fn html(of: &impl Reported) -> String {
    document::html(&of.document())
}

pub(crate) fn junit(of: &impl Reported) -> String {
    document::junit(&of.document(), document::Undecided::Error)
}

pub(crate) fn json(of: &impl Reported) -> String {
    of.json()
}
