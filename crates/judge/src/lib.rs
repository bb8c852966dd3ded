//! From evidence to findings and verdicts.
