//! Hostile servers: each answers every connection with the same bytes, once or without end.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context as _, Result};

/// What a connection is sent.
#[derive(Clone)]
pub(super) struct Script {
    /// At first.
    pub(super) head: Vec<u8>,
    /// Then again and again, until the other end has had enough; nothing when empty.
    pub(super) endless: Vec<u8>,
}

impl Script {
    /// A response whose whole is `head`.
    pub(super) fn once(head: impl Into<Vec<u8>>) -> Self {
        Self { head: head.into(), endless: Vec::new() }
    }
}

/// What clients have sent; clones share it.
#[derive(Clone, Default)]
pub(super) struct Received(Arc<Mutex<Vec<u8>>>);

impl Received {
    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves `script` on a port of its own for as long as this process lives.
pub(super) fn serve(script: Script) -> Result<SocketAddr> {
    serve_recorded(script, Received::default())
}

/// The same, and keeps what clients send.
pub(super) fn serve_recorded(script: Script, received: Received) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen")?;
    let address = listener.local_addr().context("cannot read the port")?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (script, received) = (script.clone(), received.clone());
            // A client that has had enough closes the connection, which is what is hoped for.
            thread::spawn(move || answer(stream, &script, &received));
        }
    });
    Ok(address)
}

fn answer(mut stream: TcpStream, script: &Script, received: &Received) -> std::io::Result<()> {
    let mut request = [0; 4096];
    loop {
        let length = stream.read(&mut request)?;
        if length == 0 {
            return Ok(());
        }
        received.lock().extend(&request[..length]);
        stream.write_all(&script.head)?;
        while !script.endless.is_empty() {
            stream.write_all(&script.endless)?;
        }
    }
}
