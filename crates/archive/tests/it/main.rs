//! The archive against real files, real processes and a really full disk.

#![allow(clippy::unwrap_used, reason = "what a test prepares must work, in its helpers too")]

mod beside;
mod child;
mod docs;
mod foreign;
mod forged;
mod full_disk;
mod growth;
mod hostile;
mod judgements;
mod killed;
mod recorder;
mod same_answers;
mod sample;
mod sealed;
