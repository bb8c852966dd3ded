//! Experiments. How one is made is the same for all: its arms are started and stopped ([`arm`], [`group`]), each run is made
//! ([`slot`]), one after the other ([`session`]), and kept in a list on disk ([`record`]). What each kind is, is its
//! [`design`].
//!
//! The kind of `plimsoll ab` and `calibrate` is here: pairs of two arms ([`pairs`], [`definition`]) in random order ([`order`]),
//! some of them profiled ([`sampled`]), or made elsewhere ([`files`]). [`calibration`] is what pairs of A against A show,
//! [`detectable`] the changes that it can detect.

pub(crate) mod arm;
pub(crate) mod calibration;
pub(crate) mod definition;
pub(crate) mod design;
pub(crate) mod detectable;
pub(crate) mod files;
mod group;
mod order;
pub(crate) mod pairs;
pub(crate) mod record;
mod sampled;
pub(crate) mod session;
pub(crate) mod slot;
