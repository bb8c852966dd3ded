//! A socket option of Linux that no library of ours has.

#![allow(unsafe_code, reason = "`setsockopt` has no safe interface for this option")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// From now on, binding the socket to an address leaves the choice of its port to `connect`.
pub(super) fn choose_port_later(socket: &OwnedFd) -> io::Result<()> {
    let on: c_int = 1;
    let length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open, and the value is an integer of that length which lives as long as the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            length,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
