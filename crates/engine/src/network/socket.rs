//! What differs between systems in a socket that never blocks.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub(super) use linux::{NO_SIGNAL, choose_port_later, stream_socket};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{NO_SIGNAL, choose_port_later, stream_socket};
