//! Which part of the generator something is about: a loop of a process of a machine.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A loop of a process of a machine, each numbered from 0. A run of one process on one machine has machine 0 and process 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Instance {
    /// The machine.
    pub machine: u16,
    /// The process on the machine.
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

/// `loop 2`; from the second process or machine on, `machine 1 process 0 loop 2`.
impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Instance { machine, process, loop_index } = self;
        if (*machine, *process) != (0, 0) {
            write!(f, "machine {machine} process {process} ")?;
        }
        write!(f, "loop {loop_index}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_of_the_only_process_is_named_by_its_number_alone() {
        assert_eq!(Instance::of_loop(2).to_string(), "loop 2");
        let far = Instance { machine: 1, process: 0, loop_index: 2 };
        assert_eq!(far.to_string(), "machine 1 process 0 loop 2");
        assert!(Instance::of_loop(9) < far);
    }
}
