//! Where the keys come from: a key server, or a file.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;

use crate::client::{Bounds, Client, ClientError};

/// A JWKS has a few kilobytes.
const MAX_BYTES: usize = 256 * 1024;
/// A key server responds within milliseconds; requests with an unknown key wait for it.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Where the keys come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Server(Box<Client>),
    File(PathBuf),
}

impl Source {
    /// `file:///PATH`, or the address of a key server.
    pub(super) fn at(url: &str) -> Result<Self, ClientError> {
        match url.strip_prefix("file://") {
            Some(path) if path.starts_with('/') => Ok(Self::File(PathBuf::from(path))),
            Some(_) => Err(ClientError::Destination),
            None => Client::to(url, Bounds { timeout: TIMEOUT, body_bytes: MAX_BYTES })
                .map(|client| Self::Server(Box::new(client))),
        }
    }

    /// Whether a process between this machine and the key server can put other keys in place of its own.
    pub(super) fn is_in_clear_text(&self) -> bool {
        matches!(self, Self::Server(client) if client.is_in_clear_text())
    }

    /// The current document. The error contains nothing of it.
    pub(super) async fn read(&self) -> Result<Bytes, String> {
        match self {
            Self::Server(client) => {
                client.get().await.map(|response| response.body).map_err(|error| error.to_string())
            }
            Self::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || read_file(&path)).await;
                read.unwrap_or_else(|_| Err("the file was not read".to_owned()))
            }
        }
    }
}

fn read_file(path: &Path) -> Result<Bytes, String> {
    let mut document = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut document).map_err(|error| error.to_string())?;
    if document.len() > MAX_BYTES { Err("the file is too large".to_owned()) } else { Ok(document.into()) }
}
