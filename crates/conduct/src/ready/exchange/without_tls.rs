//! A program that was built without TLS: no target has a configuration of it.

use std::io::{self, Read, Write};
use std::sync::Arc;

use engine::program::ClientConfig;

use super::Stream;

/// A connection under TLS: there is none.
pub(in crate::ready) enum TlsStream {}

pub(super) fn require_http2(config: &mut Arc<ClientConfig>) {
    match **config {}
}

pub(super) fn secured(config: &Arc<ClientConfig>, _host: &str, _: Stream) -> anyhow::Result<TlsStream> {
    match **config {}
}

impl TlsStream {
    pub(super) fn transport(&self) -> &Stream {
        match *self {}
    }
}

impl Read for TlsStream {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

impl Write for TlsStream {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}
