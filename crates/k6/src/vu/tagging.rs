//! Values with all of their tags, for outputs.

use std::collections::BTreeMap;

use evidence::Name;

use super::Tagged;
use crate::added_values::{AddedValue, ValueOutput, ValueTags};
use crate::metrics::Tags;

/// System tags that belong to a value and select nothing.
const METADATA: [&str; 2] = ["iter", "vu"];

impl ValueOutput {
    /// A value that a virtual user adds now. Its tags are those of `previous` where they are equal.
    pub(super) fn value(
        &self,
        metric: &str,
        sample: (f64, &Tagged<'_>),
        previous: Option<&AddedValue>,
    ) -> AddedValue {
        let (value, tagged) = sample;
        let tags = self.tags(tagged);
        let shared = previous.filter(|previous| *previous.tags == tags).map(|previous| previous.tags.clone());
        AddedValue {
            metric: metric.into(),
            at: tagged.vu.now.get(),
            value,
            tags: shared.unwrap_or_else(|| tags.into()),
        }
    }

    fn tags(&self, tagged: &Tagged<'_>) -> ValueTags {
        let mut all = ValueTags { tags: given(tagged), metadata: BTreeMap::new() };
        for name in self.system_tags.names() {
            // Outside of groups the path is empty, and said; what else is empty does not apply.
            let value = tagged.tag(name).filter(|value| name == "group" || !value.is_empty());
            let Some(value) = value else { continue };
            let kind = if METADATA.contains(&name) { &mut all.metadata } else { &mut all.tags };
            kind.insert(name.into(), Name::from(&*value));
        }
        all
    }
}

/// The tags that options and the script give, those of the value itself above those of wider scope.
fn given(tagged: &Tagged<'_>) -> BTreeMap<Name, Name> {
    let vu = tagged.vu;
    let of_user = vu.own_tags.borrow();
    let wide = vu.shared.script.tags().iter().chain(&vu.scenario().tags).chain(&*of_user);
    let own = tagged.own.given().iter().map(|(name, value)| (name, value));
    wide.chain(own).map(|(name, value)| (Name::from(name.as_str()), Name::from(value.as_str()))).collect()
}
