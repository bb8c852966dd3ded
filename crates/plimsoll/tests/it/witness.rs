//! A third reader: the target's own log. Every number that the JSON report or the terminal shows of a load is compared
//! with arithmetic on that log and on the schedule on paper, never with another number of ours: readers that agree can be
//! wrong together.
//!
//! A log does not give each number exactly: it knows when it had read a request and when it wrote the response, not when
//! the generator had the response. [`log`] gives the instants between which each of these lies, [`table`] what follows for
//! each figure.

mod drops;
mod endpoints;
mod load;
mod log;
mod overload;
mod scripts;
mod shapes;
mod table;
