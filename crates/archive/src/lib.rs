//! The run file: written while the run goes on, sealed, read back.
