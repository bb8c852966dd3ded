//! Workers: processes elsewhere whose loops belong to one run.
//!
//! A worker is more loops. What it offers is its segment of the load, and its ticks come over a socket into the same exchange
//! that joins a loop to the recorder, so that nothing after the recorder knows of it. [`Fleet`] is the coordinator's side,
//! [`Listening`] and [`Session`] are the worker's; between them are [`frame`]s, whose content is in [`message`] and [`tick`].

mod clock;
mod error;
mod fleet;
pub mod frame;
mod handshake;
mod keys;
pub mod kubernetes;
mod link;
pub mod message;
mod observed;
pub mod tick;
mod worker;

pub use clock::{Exchange, OffsetEstimate};
pub use error::ClusterError;
pub use fleet::{AbsentWorker, Coordinator, Fleet, FleetEnd, Job, Limits, WorkerAddress, WorkerFacts};
pub use handshake::{Token, UnusableToken};
pub use keys::{RunKeys, Secret};
pub use message::{Assignment, HandedFile, WorkerIdentity};
pub use worker::{Listening, ReceivedFiles, Session};
