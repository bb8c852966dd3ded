//! What the files of /proc say, as pure functions of their text.
//!
//! Formats are those of proc(5). A process chooses its own name and may put anything into it, so nothing
//! here panics, whatever the text.

mod cgroup;
mod host;
mod net;
mod netstat;
mod schedstat;
mod sockets;
mod stat;
mod status;

pub(crate) use cgroup::{count_of, cpu_cores_of_quota, cpu_max_cores, own_cgroup};
pub(crate) use host::{
    CpuTicks, parse_available_bytes, parse_cpu_ticks, parse_frequency_hz, parse_pressure_us,
};
pub(crate) use net::{listening_inodes, socket_inode};
pub(crate) use netstat::parse_counter;
pub(crate) use schedstat::{ThreadTimes, parse_schedstat};
pub(crate) use sockets::local_ports_in_use;
pub(crate) use stat::{Stat, parse_stat};
pub(crate) use status::{Memory, parse_processors, parse_status};
