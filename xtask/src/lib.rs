//! The demo, and what other chores share with it: the tree, child processes, a service that is started and stopped.

pub mod child;
pub mod demo;
pub mod service_process;
pub mod signals;
pub mod workspace;
