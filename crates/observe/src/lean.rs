//! A program that was built without the feature `full`: it refuses to watch what it cannot.

use std::io;

/// The error of a watch that needs `what`.
pub(crate) fn refused(what: &str) -> io::Error {
    let text = format!(
        "this program was built without {what}, as `cargo xtask demo` does to begin sooner; \
         `cargo build --package plimsoll` builds one with it"
    );
    io::Error::new(io::ErrorKind::Unsupported, text)
}
