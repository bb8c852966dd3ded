//! The gRPC target: unary calls over cleartext HTTP/2, messages as bytes.
//!
//! Framing is `h2`'s and timers are tokio's, on one thread of the target's own: this crate is for tests, and
//! a peer that shares no code with ours is the better witness.

pub(crate) mod behaviour;
mod call;
mod connection;
mod frames;
mod stream;
mod streaming;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::LocalSet;

use crate::grpc::behaviour::GrpcBehaviour;
use crate::refusal::listen_at;
use crate::shared::Shared;
use crate::site::Site;
use crate::target::Target;

/// What every task of the target is given.
#[derive(Debug)]
struct Server {
    shared: Arc<Shared>,
    site: Site<GrpcBehaviour>,
}

impl Server {
    /// The behaviour at `path`.
    fn behaviour(&self, path: &str) -> GrpcBehaviour {
        let route = self.site.routes.iter().find(|(known, _)| known == path).map(|(_, behaviour)| behaviour);
        route
            .or(self.site.fallback.as_ref())
            .cloned()
            .unwrap_or(GrpcBehaviour::TrailersOnly { code: 12, message: "no such method".to_owned() })
    }
}

/// Starts a gRPC target on a free port of 127.0.0.1. A single [`GrpcBehaviour`] serves every method.
///
/// # Errors
/// When no port or no thread can be had.
pub fn grpc(site: impl Into<Site<GrpcBehaviour>>) -> io::Result<Target> {
    grpc_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), site)
}

/// Starts a gRPC target at an address that a [`crate::Refusal`] has given up, or that is free.
///
/// # Errors
/// When the address is taken, or no thread can be had.
pub fn grpc_at(addr: SocketAddr, site: impl Into<Site<GrpcBehaviour>>) -> io::Result<Target> {
    let site = site.into();
    let shared = Shared::new(site.freeze);
    let (listener, port) = listen_at(addr)?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (wake, woken) = watch::channel(());
    let server = Arc::new(Server { shared: shared.clone(), site });
    let thread = thread::Builder::new().name("testbed-grpc".to_owned()).spawn(move || {
        LocalSet::new().block_on(&runtime, accept(listener, server, woken));
    })?;
    // The task may have ended already; there is nothing to wake then.
    let wake = move || {
        let _ = wake.send(());
    };
    Ok(Target::new(addr, shared, Box::new(wake), thread, port))
}

/// Accepts until the target is stopped. Connections end with the runtime that drives them.
async fn accept(listener: std::net::TcpListener, server: Arc<Server>, mut woken: watch::Receiver<()>) {
    let listener = TcpListener::from_std(listener).expect("a listener in the runtime that was made for it");
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that broke before it was accepted is its client's matter.
                if let Ok((stream, _)) = accepted {
                    tokio::task::spawn_local(connection::serve(stream, server.clone()));
                }
            }
            _ = woken.changed() => return,
        }
    }
}
