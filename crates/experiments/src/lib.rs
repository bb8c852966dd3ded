//! Conducts experiments: runs of arms that are started, loaded and stopped, one after the other, until they decide something.
//!
//! How one is made is the same for all: its arms are started and stopped (`arm`, `group`), each run is made (`slot`), one after
//! the other ([`session`], where to start reading), and kept in a list on disk ([`record`]). What each kind is, is its
//! `design`: of pairs of two arms [`pairs`], of a search for a capacity [`search`].

mod arm;
mod design;
pub mod generator;
mod group;
pub mod pairs;
pub mod record;
pub mod search;
pub mod session;
mod slot;
