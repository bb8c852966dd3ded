//! The words for what was seen, and nothing about how it was seen.
