//! Targets with a known truth, each with a log of its own.
//!
//! A test starts a target, offers load to it, and compares what the generator claims with what the target
//! knows: every request it read, when, how long it was held, and how it ended. Both sides read the
//! same system-wide monotonic clock ([`now_ns`]), so their instants can be compared directly.
//!
//! This crate is for tests and manual work alone. It must not import any other crate, or the log would come from the
//! code under test. Start reading at [`Behaviour`], then [`Target`].
//!
//! ```
//! use std::time::Duration;
//! use testbed::{Behaviour, Site};
//!
//! let site = Site::new()
//!     .at("/slow", Behaviour::after(Duration::from_millis(5)))
//!     .at("/broken", Behaviour::reset())
//!     .otherwise(Behaviour::ok());
//! let target = testbed::http(site)?;
//! let url = format!("http://{}/slow", target.addr());
//! # let _ = url;
//! assert!(target.log().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod behaviour;
mod clock;
mod freeze;
mod front;
mod grpc;
mod http;
mod log;
mod queue;
mod refusal;
mod shared;
mod site;
mod target;

pub use behaviour::{Answerer, Behaviour, CannedResponse, Ending, Farewell, Framing};
pub use clock::now_ns;
pub use freeze::Freeze;
pub use front::{Authority, Front, Identity, RunningFront, Validity};
pub use grpc::behaviour::{GrpcBehaviour, StreamEnd};
pub use grpc::{grpc, grpc_at};
pub use http::{http, http_at};
pub use log::{BODY_LIMIT, LOG_LIMIT, Outcome, Served};
pub use refusal::{Refusal, refuse};
pub use site::Site;
pub use target::Target;
