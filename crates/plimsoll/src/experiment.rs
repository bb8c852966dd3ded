//! Experiments: what they are made of ([`definition`]), how their arms are started and stopped ([`arm`]), the order of
//! their runs ([`order`]), which of them are profiled ([`sampled`]), each run ([`pair`], [`slot`]), all of them ([`session`]), and
//! their list on disk ([`list`], [`record`]). Pairs that were made before are read by [`given`]. [`calibration`] is what pairs of A against A
//! show, [`visible`] the changes that can be found with it; [`bisect`] answers `git bisect`.

pub(crate) mod arm;
pub(crate) mod bisect;
pub(crate) mod calibration;
pub(crate) mod definition;
pub(crate) mod given;
pub(crate) mod group;
pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod order;
pub(crate) mod pair;
pub(crate) mod record;
pub(crate) mod sampled;
pub(crate) mod session;
pub(crate) mod slot;
pub(crate) mod visible;
