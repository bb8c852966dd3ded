//! What a k6 script, its configuration file, `K6_*` variables and flags ask for, and the workload that it is.
