//! TCP ports that a peer can close and open again.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports of outgoing connections (from 32768 on Linux): while a peer is down, no client of its own machine gets
/// its port, and none that connects to it can connect to itself.
const FIRST: u16 = 18_000;
const COUNT: u16 = 12_000;

/// A port of 127.0.0.1 that is free now. Processes and calls begin their search at different ones.
pub(crate) fn free() -> Option<u16> {
    static CALLS: AtomicU16 = AtomicU16::new(0);
    let call = u32::from(CALLS.fetch_add(1, Ordering::Relaxed));
    let start = std::process::id().wrapping_mul(61).wrapping_add(call);
    (0..u32::from(COUNT))
        .filter_map(|step| u16::try_from(start.wrapping_add(step) % u32::from(COUNT)).ok())
        .map(|offset| FIRST + offset)
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
}
