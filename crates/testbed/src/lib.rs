//! Targets with a known truth, each with a log of its own.
