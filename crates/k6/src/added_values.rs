//! Every value that scripts add to metrics, with its time and all of its tags, for outputs such as `-o json`. Nothing of this is
//! made unless an output asks for it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use evidence::{Instant, Name};

use crate::options::SystemTags;

/// What values are tagged with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValueTags {
    pub tags: BTreeMap<Name, Name>,
    /// What selects nothing: `vu` and `iter`, where they are asked for.
    pub metadata: BTreeMap<Name, Name>,
}

/// A value that was added to a metric.
#[derive(Debug, Clone)]
pub struct AddedValue {
    pub metric: Name,
    /// When, on the run's clock.
    pub at: Instant,
    /// What was added; finite.
    pub value: f64,
    /// Its tags, which values that were added together share.
    pub tags: Arc<ValueTags>,
}

/// Values in the order in which they were added, and the start of their clock in nanoseconds since 1970.
#[derive(Debug)]
pub struct AddedValues {
    /// The start of the clock.
    pub epoch_unix_ns: i128,
    pub values: Vec<AddedValue>,
}

/// Takes values; called on the loops, so that it must not wait.
pub type ValueSink = Arc<dyn Fn(AddedValues) + Send + Sync>;

/// Who takes every value, and which tags they have.
#[derive(Clone)]
pub struct ValueOutput {
    /// Takes them.
    pub sink: ValueSink,
    /// The tags that they get of themselves.
    pub system_tags: SystemTags,
}

impl fmt::Debug for ValueOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueOutput").field("system_tags", &self.system_tags).finish_non_exhaustive()
    }
}
