//! Watches a target from outside, once a second.
//!
//! An [`Observer`] turns what it can see into samples of named series; a [`Watch`] samples every observer at each whole
//! second of the run. This crate owns no clock: the run gives it one. It must not know what load is offered or what the
//! samples are for. A target that fails is a gap in a series and a [`Notice`], never an error of the run. Start reading at
//! [`Watch`], then [`ProcessObserver`].

mod base;
mod cgroup;
mod error;
pub mod exposition;
mod fetch;
mod host;
mod identity;
#[cfg(not(feature = "full"))]
mod lean;
mod limits;
mod listener;
mod machine;
mod notice;
mod observer;
mod own;
mod perf;
#[cfg_attr(not(feature = "full"), path = "without_postgres.rs")]
mod postgres;
mod pprof_path;
mod proc;
mod process;
mod profiler;
mod prometheus;
mod rates;
mod reading;
#[cfg_attr(not(feature = "full"), path = "without_redis.rs")]
mod redis;
mod reference_probe;
mod remote;
mod tree;
mod watch;

pub use cgroup::{CgroupRef, cgroup};
pub use error::ObserveError;
pub use host::Host;
pub use identity::{ProcessIdentity, identify};
pub use limits::{OpenFiles, limits, raise_open_files};
pub use machine::{boot_id, environment};
pub use observer::{Clock, Observer};
pub use own::OwnProcess;
pub use postgres::{identify_postgres, postgres};
pub use pprof_path::{WrongPprofPath, ask_pprof};
pub use process::{ProcessObserver, ProcessRef};
pub use profiler::{Capture, Formats, ProfileSource, Profiler};
pub use prometheus::prometheus;
pub use redis::redis;
pub use reference_probe::ReferenceProbe;
pub use watch::Watch;
