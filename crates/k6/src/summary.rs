//! The summary at the end of a run, as k6 shows it, exports it and gives it to `handleSummary`.
