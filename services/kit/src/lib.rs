//! What every service shares: configuration, health, metrics, drain.
