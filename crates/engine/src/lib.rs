//! The loop that starts each arrival when due and drives its iteration.
