//! Sockets of other systems than Linux, such as macOS.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
#[cfg(target_vendor = "apple")]
use rustix::net::sockopt::set_socket_nosigpipe;
use rustix::net::{AddressFamily, SendFlags, SocketType, socket};

/// The socket itself raises no signal, see [`stream_socket`].
pub(in super::super) const NO_SIGNAL: SendFlags = SendFlags::empty();

pub(in super::super) fn stream_socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let socket = socket(family, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    #[cfg(target_vendor = "apple")]
    set_socket_nosigpipe(&socket, true)?;
    Ok(socket)
}

/// The port is chosen by `bind`: this system has no option for it.
pub(in super::super) fn choose_port_later(_socket: &OwnedFd) -> io::Result<()> {
    Ok(())
}
