//! Who becomes the coordinator of a worker: peers prove who they are beside each other, so that none keeps another one out.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};

use crate::ClusterError;
use crate::link::Link;

/// How many peers may be about to prove who they are. Beyond it the oldest one of the address with the most of them is dropped:
/// a coordinator proves itself within a few round trips.
const MOST_PEERS: usize = 64;

/// A peer that has not proved who it is.
struct Peer {
    number: u64,
    from: SocketAddr,
    stream: TcpStream,
    is_dropped: bool,
}

struct Proved {
    number: u64,
    link: Result<Link, ClusterError>,
}

/// The first peer of `listener` that proves to be the coordinator; each other one is reported to `refused`.
///
/// # Errors
/// The system's.
pub(super) fn coordinator(
    listener: &TcpListener,
    prove: impl Fn(TcpStream) -> Result<Link, ClusterError> + Sync,
    mut refused: impl FnMut(SocketAddr, &ClusterError),
) -> Result<Link, ClusterError> {
    listener.set_nonblocking(true)?;
    let (bell, door) = UnixStream::pair()?;
    bell.set_nonblocking(true)?;
    door.set_nonblocking(true)?;
    let (proved, ends) = channel();
    let (prove, bell) = (&prove, &bell);
    thread::scope(|scope| {
        let mut peers: Vec<Peer> = Vec::new();
        let mut number = 0;
        let mut admit = |stream: TcpStream, from: SocketAddr, peers: &mut Vec<Peer>| -> io::Result<()> {
            number += 1;
            drop_one_beyond(MOST_PEERS - 1, peers);
            peers.push(Peer { number, from, stream: stream.try_clone()?, is_dropped: false });
            let (number, proved): (u64, Sender<Proved>) = (number, proved.clone());
            thread::Builder::new().spawn_scoped(scope, move || {
                // The other side is gone only when another peer was the coordinator.
                let _ = proved.send(Proved { number, link: prove(stream) });
                // A bell that is full rings as well.
                let _ = { bell }.write(&[0]);
            })?;
            Ok(())
        };
        let mut next = || loop {
            if let Some((link, from)) = ended(&ends, &mut peers) {
                match link {
                    Ok(link) => return Ok(link),
                    Err(error) => refused(from, &error),
                }
                continue;
            }
            match listener.accept() {
                Ok((stream, from)) => admit(stream, from, &mut peers)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => wait(listener, &door)?,
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => {}
                Err(error) => return Err(error.into()),
            }
        };
        let coordinator = next();
        // No thread waits for a peer that is not needed any more.
        peers.iter().for_each(Peer::close);
        coordinator
    })
}

impl Peer {
    fn close(&self) {
        // It may be closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// A peer whose proof has succeeded or failed, if there is one.
fn ended(ends: &Receiver<Proved>, peers: &mut Vec<Peer>) -> Option<(Result<Link, ClusterError>, SocketAddr)> {
    let Proved { number, link } = ends.try_recv().ok()?;
    let at = peers.iter().position(|peer| peer.number == number)?;
    Some((link, peers.remove(at).from))
}

/// Drop the oldest peer of the address with the most peers, where there are more than `most`.
fn drop_one_beyond(most: usize, peers: &mut [Peer]) {
    let kept = |peer: &&Peer| !peer.is_dropped;
    if peers.iter().filter(kept).count() <= most {
        return;
    }
    let of_address =
        |from: SocketAddr| peers.iter().filter(kept).filter(|peer| peer.from.ip() == from.ip()).count();
    let counts: Vec<usize> = peers.iter().map(|peer| of_address(peer.from)).collect();
    let kept = peers.iter().enumerate().filter(|(_, peer)| !peer.is_dropped);
    // Of equals the first is the oldest.
    let Some((at, _)) = kept.rev().max_by_key(|(at, _)| counts[*at]) else { return };
    peers[at].is_dropped = true;
    peers[at].close();
}

/// Wait for a further peer, or for the end of a proof.
fn wait(listener: &TcpListener, door: &UnixStream) -> Result<(), ClusterError> {
    let mut both =
        [PollFd::new(listener, PollFlags::IN), PollFd::from_borrowed_fd(door.as_fd(), PollFlags::IN)];
    match poll(&mut both, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(io::Error::from(error).into()),
    }
    // What rang is looked at in any case.
    let _ = { door }.read(&mut [0; 256]);
    Ok(())
}
