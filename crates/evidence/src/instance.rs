//! Which part of the generator something is about: a loop of a process of a machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A loop of a process of a machine, each numbered from 0. A run of one process on one machine has machine 0 and process 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Instance {
    /// The machine.
    pub machine: u16,
    /// The process: of a run with workers the number of the worker, from 1, whatever its machine.
    pub process: u16,
    /// The loop in the process.
    #[serde(rename = "loop")]
    pub loop_index: u16,
}

impl Instance {
    /// What makes the teardown of a run, which is not a loop of its load.
    pub const TEARDOWN: Instance = Instance::of_loop(u16::MAX);

    /// A loop of the only process of a run.
    pub const fn of_loop(loop_index: u16) -> Self {
        Instance { machine: 0, process: 0, loop_index }
    }

    /// Whether both are in one process.
    pub fn is_in_process_of(self, other: Instance) -> bool {
        (self.machine, self.process) == (other.machine, other.process)
    }
}

/// `loop 2`; of a worker, whose number is that of its process, `worker 3, loop 2`.
impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.process != 0 {
            write!(f, "worker {}, ", self.process)?;
        }
        write!(f, "loop {}", self.loop_index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_of_the_only_process_is_named_by_its_number_alone() {
        assert_eq!(Instance::of_loop(2).to_string(), "loop 2");
        for machine in [0, 1] {
            let of_worker = Instance { machine, process: 3, loop_index: 2 };
            assert_eq!(of_worker.to_string(), "worker 3, loop 2");
            assert!(Instance::of_loop(9) < of_worker);
        }
    }
}
