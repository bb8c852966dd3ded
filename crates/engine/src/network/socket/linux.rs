//! Sockets of Linux.

#![allow(unsafe_code, reason = "`setsockopt` has no safe interface for this option")]

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, socket_with};

/// Writing to a connection that the peer closed is an error and no signal.
pub(in super::super) const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;

pub(in super::super) fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// From now on, binding the socket to an address leaves the choice of its port to `connect`.
pub(in super::super) fn choose_port_later(socket: &OwnedFd) -> io::Result<()> {
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
