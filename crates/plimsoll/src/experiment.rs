//! Experiments: what they are made of ([`definition`]), how their arms are started and stopped ([`arm`]), the order of
//! their runs ([`order`]), each run ([`slot`]), all of them ([`session`]), and their list on disk ([`record`]). Pairs that
//! were made before are read by [`given`].

pub(crate) mod arm;
pub(crate) mod definition;
pub(crate) mod given;
pub(crate) mod group;
pub(crate) mod order;
pub(crate) mod record;
pub(crate) mod session;
pub(crate) mod slot;
