//! The HTTP/1.1 target: one thread a connection, blocking sockets, no runtime between clock and kernel.

mod answer;
mod connection;
mod handler;
mod request;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::behaviour::Behaviour;
use crate::http::connection::Connection;
use crate::http::handler::Handlers;
use crate::refusal::listen_at;
use crate::shared::Shared;
use crate::site::Site;
use crate::target::Target;

/// Stack of a connection's thread: small, since a target may have a thousand of them.
const STACK_BYTES: usize = 128 * 1024;

/// Starts an HTTP target on a free port of 127.0.0.1. A single [`Behaviour`] serves every path.
///
/// # Errors
/// When no port or no thread can be had.
pub fn http(site: impl Into<Site<Behaviour>>) -> io::Result<Target> {
    http_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), site)
}

/// Starts an HTTP target at an address that a [`crate::Refusal`] has given up, or that is free.
///
/// # Errors
/// When the address is taken, or no thread can be had.
pub fn http_at(addr: SocketAddr, site: impl Into<Site<Behaviour>>) -> io::Result<Target> {
    let site = site.into();
    let shared = Shared::new(site.freeze);
    let handlers = Arc::new(Handlers::new(site));
    let (listener, port) = listen_at(addr)?;
    let addr = listener.local_addr()?;
    let acceptor = thread::Builder::new().name("testbed-accept".to_owned()).spawn({
        let shared = shared.clone();
        move || accept(&listener, &shared, &handlers)
    })?;
    // The acceptor sleeps in `accept`: a connection of our own makes it look at the flag.
    let wake = move || drop(TcpStream::connect(addr));
    Ok(Target::new(addr, shared, Box::new(wake), acceptor, port))
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>, handlers: &Arc<Handlers>) {
    for stream in listener.incoming() {
        if shared.stop.is_set() {
            return;
        }
        // A connection that broke before it was accepted, or for which there is no descriptor or thread,
        // is dropped: its client sees it closed.
        let Ok(stream) = stream else { continue };
        let connection = Connection::new(Arc::new(stream), shared.clone(), handlers.clone());
        let thread = thread::Builder::new().name("testbed-serve".to_owned()).stack_size(STACK_BYTES);
        let _ = thread.spawn(move || connection.serve());
    }
}
