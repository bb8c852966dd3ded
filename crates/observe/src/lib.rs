//! Watches a target from outside, once a second.
