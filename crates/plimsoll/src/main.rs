//! Finds the load a service may safely carry, and proves it.

fn main() {}
