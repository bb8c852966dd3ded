//! Virtual users and dropped iterations of a run as values of `-o`, read from its ticks.

use std::collections::BTreeMap;
use std::sync::Arc;

use evidence::sink::{Sink, SinkError};
use evidence::{Name, Observed, RunEnd, Tick};

use super::tick_values::TickValues;
use crate::{AddedValue, AddedValues, ValueOutput, ValueTags};

/// Gives values to an output.
pub struct ValueTicks {
    values: TickValues,
    output: ValueOutput,
    /// Tags of the whole run.
    tags: BTreeMap<Name, Name>,
    epoch_unix_ns: i128,
}

impl ValueTicks {
    /// Of a run with so many loops that begins at `epoch_unix_ns`, in nanoseconds since 1970, whose values all have these tags.
    pub fn new(
        output: ValueOutput,
        tags: &BTreeMap<String, String>,
        loops: u16,
        epoch_unix_ns: i128,
    ) -> ValueTicks {
        let owned = |(name, value): (&String, &String)| (name.as_str().into(), value.as_str().into());
        ValueTicks {
            values: TickValues::new(loops),
            output,
            tags: tags.iter().map(owned).collect(),
            epoch_unix_ns,
        }
    }
}

impl Sink for ValueTicks {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        let mut values = Vec::new();
        for value in self.values.take(tick) {
            let mut tags = self.tags.clone();
            let scenario = value.scenario.filter(|_| self.output.system_tags.has("scenario"));
            tags.extend(scenario.map(|scenario| (Name::from("scenario"), scenario)));
            let tags = Arc::new(ValueTags { tags, ..ValueTags::default() });
            values.push(AddedValue { metric: value.metric.into(), at: value.at, value: value.value, tags });
        }
        if !values.is_empty() {
            (self.output.sink)(AddedValues { epoch_unix_ns: self.epoch_unix_ns, values });
        }
        Ok(())
    }

    fn observed(&mut self, _observed: &Observed) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}
