//! What load to offer, read from a plan and checked before a byte is sent.
