//! The process that listens on a TCP port.

use std::fs;
use std::path::PathBuf;

use crate::error::ObserveError;
use crate::proc::{listening_inodes, socket_inode};
use crate::reading::read_stat;

/// A process found by the port it listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listener {
    pub(crate) pid: u32,
    pub(crate) socket: Socket,
    /// Other processes that listen on the same port, ascending.
    pub(crate) others: Vec<u32>,
}

/// Where a process holds its listening socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Socket {
    link: PathBuf,
    inode: u64,
}

impl Socket {
    /// Whether the process still holds it: one link read, instead of a search through every process.
    pub(crate) fn is_held(&self) -> bool {
        inode_of(&self.link) == Some(self.inode)
    }
}

/// Finds the process that listens on `port` of any local address, IPv4 or IPv6. Of several, which share
/// a socket or a port, it is the one that started first, as the parent of a group of workers did.
pub(crate) fn find(port: u16) -> Result<Listener, ObserveError> {
    let inodes = listening(port)?;
    if inodes.is_empty() {
        return Err(ObserveError::NoListener { port });
    }
    let mut holders: Vec<(u64, u32, Socket)> = processes()
        .filter_map(|pid| {
            let socket = held(pid, &inodes)?;
            Some((read_stat(pid).ok()?.start_ticks, pid, socket))
        })
        .collect();
    holders.sort_by_key(|(start_ticks, pid, _)| (*start_ticks, *pid));
    let mut holders = holders.into_iter();
    let (_, pid, socket) = holders.next().ok_or(ObserveError::HiddenListener { port })?;
    let mut others: Vec<u32> = holders.map(|(_, pid, _)| pid).collect();
    others.sort_unstable();
    Ok(Listener { pid, socket, others })
}

fn listening(port: u16) -> Result<Vec<u64>, ObserveError> {
    if !cfg!(target_os = "linux") {
        return Err(ObserveError::NotAvailable);
    }
    let path = "/proc/net/tcp";
    let table =
        fs::read_to_string(path).map_err(|source| ObserveError::Read { path: path.to_owned(), source })?;
    let mut inodes = listening_inodes(&table, port);
    // A machine without IPv6 has no such file.
    if let Ok(table) = fs::read_to_string("/proc/net/tcp6") {
        inodes.extend(listening_inodes(&table, port));
    }
    Ok(inodes)
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The socket among `inodes` that process `pid` holds; none for a process that may not be looked into.
fn held(pid: u32, inodes: &[u64]) -> Option<Socket> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    links.filter_map(Result::ok).find_map(|link| {
        let link = link.path();
        let inode = inode_of(&link).filter(|inode| inodes.contains(inode))?;
        Some(Socket { link, inode })
    })
}

fn inode_of(link: &PathBuf) -> Option<u64> {
    socket_inode(fs::read_link(link).ok()?.to_str()?)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn finds_this_process_by_a_socket_of_its_own() {
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            // A machine without IPv6 has no such address.
            let Ok(socket) = TcpListener::bind(address) else { continue };
            let port = socket.local_addr().unwrap().port();
            let listener = find(port).unwrap();
            assert_eq!((listener.pid, listener.others), (std::process::id(), vec![]), "{address}");
            assert!(listener.socket.is_held());
            drop(socket);
            assert!(!listener.socket.is_held());
            assert!(matches!(find(port), Err(ObserveError::NoListener { .. })));
        }
    }
}
