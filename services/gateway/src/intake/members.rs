//! What a sender told of one sample, member by member, and whether that makes a sample.

use super::Limits;
use crate::instant;
use crate::sample::{
    Invalid, MAX_METADATA, MAX_METADATA_NAME_BYTES, MAX_METADATA_TEXT_BYTES, Priority, Sample, Scalar, name,
    unit, value,
};
use std::borrow::Cow;

/// Any value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List,
    Map(Vec<(Cow<'a, str>, Value<'a>)>),
}

/// The members that are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    DeviceId,
    Type,
    Value,
    Unit,
    Priority,
    Timestamp,
    Metadata,
}

const COUNT: usize = 7;

impl Known {
    const ALL: [Self; COUNT] = [
        Self::DeviceId,
        Self::Type,
        Self::Value,
        Self::Unit,
        Self::Priority,
        Self::Timestamp,
        Self::Metadata,
    ];

    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::DeviceId => "device_id",
            Self::Type => "type",
            Self::Value => "value",
            Self::Unit => "unit",
            Self::Priority => "priority",
            Self::Timestamp => "timestamp",
            Self::Metadata => "metadata",
        }
    }
}

/// What was told of one sample.
#[derive(Debug, Default)]
pub(super) struct Told<'a> {
    members: [Option<Value<'a>>; COUNT],
    wrong: Option<Invalid>,
}

impl<'a> Told<'a> {
    /// Something else than a sample.
    pub(super) const NOT_AN_OBJECT: Self = Self {
        members: [const { None }; COUNT],
        wrong: Some(Invalid {
            member: "sample",
            reason: Cow::Borrowed("must be an object"),
            device_id: None,
        }),
    };

    pub(super) fn tell(&mut self, known: Known, value: Value<'a>) {
        let member = &mut self.members[known as usize];
        if member.is_some() {
            // Two readers could believe different ones of the two.
            self.wrong = Some(Invalid::fixed(known.name(), "must not be given twice"));
        }
        *member = Some(value);
    }

    /// The sample, or the first thing that is wrong.
    pub(super) fn check(mut self, limits: Limits) -> Result<Sample<'a>, Invalid> {
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        let device_id = name("device_id", self.text(Known::DeviceId)?)?;
        match self.rest(limits) {
            Ok(sample) => Ok(Sample { device_id, ..sample }),
            Err(wrong) => Err(Invalid { device_id: Some(device_id.into_owned()), ..wrong }),
        }
    }

    /// The sample but for whose it is.
    fn rest(&mut self, limits: Limits) -> Result<Sample<'a>, Invalid> {
        let kind = name("type", self.text(Known::Type)?)?;
        let value = value(self.number(Known::Value)?, limits.value)?;
        let unit = unit(self.text(Known::Unit)?)?;
        let priority = self.priority()?;
        let timestamp = self.text(Known::Timestamp)?;
        if instant::parse(&timestamp).is_none() {
            return Err(Invalid::fixed("timestamp", "must be RFC 3339, in 1970 or later"));
        }
        let metadata = self.metadata()?;
        Ok(Sample {
            device_id: Cow::Borrowed(""),
            kind,
            value,
            unit,
            priority,
            timestamp,
            sequence: 0,
            metadata,
        })
    }

    fn take(&mut self, known: Known) -> Option<Value<'a>> {
        self.members[known as usize].take()
    }

    fn text(&mut self, known: Known) -> Result<Cow<'a, str>, Invalid> {
        match self.take(known) {
            Some(Value::Text(text)) => Ok(text),
            None => Err(Invalid::fixed(known.name(), "is missing")),
            Some(_) => Err(Invalid::fixed(known.name(), "must be a text")),
        }
    }

    fn number(&mut self, known: Known) -> Result<f64, Invalid> {
        match self.take(known) {
            Some(Value::Number(number)) => Ok(number),
            None => Err(Invalid::fixed(known.name(), "is missing")),
            Some(_) => Err(Invalid::fixed(known.name(), "must be a finite number")),
        }
    }

    fn priority(&mut self) -> Result<Priority, Invalid> {
        let wrong = || Invalid::fixed("priority", "must be HIGH, MEDIUM or LOW");
        match self.take(Known::Priority) {
            None => Ok(Priority::Medium),
            Some(Value::Text(word)) => Priority::of(&word).ok_or_else(wrong),
            Some(_) => Err(wrong()),
        }
    }

    fn metadata(&mut self) -> Result<Vec<(Cow<'a, str>, Scalar<'a>)>, Invalid> {
        let wrong = |reason| Err(Invalid::fixed("metadata", reason));
        let members = match self.take(Known::Metadata) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Map(members)) => members,
            Some(_) => return wrong("must be an object"),
        };
        if members.len() > MAX_METADATA {
            return wrong("must have at most 16 members");
        }
        let fits = |(name, _): &(Cow<'a, str>, _)| (1..=MAX_METADATA_NAME_BYTES).contains(&name.len());
        if !members.iter().all(fits) {
            return wrong("must have members with names of 1 to 64 bytes");
        }
        if members
            .iter()
            .enumerate()
            .any(|(at, (name, _))| members[..at].iter().any(|(other, _)| other == name))
        {
            return wrong("must not have two members of one name");
        }
        let scalar = |(name, value)| match value {
            Value::Text(text) if text.len() <= MAX_METADATA_TEXT_BYTES => Some((name, Scalar::Text(text))),
            Value::Number(number) if number.is_finite() => Some((name, Scalar::Number(number))),
            Value::Bool(flag) => Some((name, Scalar::Bool(flag))),
            _ => None,
        };
        let scalars: Option<Vec<_>> = members.into_iter().map(scalar).collect();
        scalars.map_or_else(
            || wrong("must have texts of at most 256 bytes, numbers, true or false as members"),
            Ok,
        )
    }
}
