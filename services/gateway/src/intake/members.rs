//! The members of one sample as they were sent, and their validation.

use std::borrow::Cow;

use super::Limits;
use crate::instant;
use crate::sample::{
    Invalid, MAX_METADATA, MAX_METADATA_NAME_BYTES, MAX_METADATA_TEXT_BYTES, Priority, Sample, Scalar, name,
    unit, value,
};

/// Any JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'a, str>),
    List,
    Map(Vec<(Cow<'a, str>, Value<'a>)>),
}

/// The known members of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Member {
    DeviceId,
    Type,
    Value,
    Unit,
    Priority,
    Timestamp,
    Metadata,
}

const COUNT: usize = 7;

impl Member {
    const ALL: [Self; COUNT] = [
        Self::DeviceId,
        Self::Type,
        Self::Value,
        Self::Unit,
        Self::Priority,
        Self::Timestamp,
        Self::Metadata,
    ];

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|member| member.name() == name)
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

/// The members of one sample that were sent.
#[derive(Debug, Default)]
pub(super) struct SampleMembers<'a> {
    members: [Option<Value<'a>>; COUNT],
    invalid: Option<Invalid>,
}

impl<'a> SampleMembers<'a> {
    /// A value that is not an object.
    pub(super) const NOT_AN_OBJECT: Self = Self {
        members: [const { None }; COUNT],
        invalid: Some(Invalid {
            member: "sample",
            reason: Cow::Borrowed("must be an object"),
            device_id: None,
        }),
    };

    pub(super) fn set(&mut self, member: Member, value: Value<'a>) {
        let field = &mut self.members[member as usize];
        if field.is_some() {
            // Of two values, two readers could use different ones.
            self.invalid = Some(Invalid::fixed(member.name(), "must not be given twice"));
        }
        *field = Some(value);
    }

    /// The sample, or the first member that is invalid.
    pub(super) fn check(mut self, limits: Limits) -> Result<Sample<'a>, Invalid> {
        if let Some(invalid) = self.invalid.take() {
            return Err(invalid);
        }
        let device_id = name("device_id", self.text(Member::DeviceId)?)?;
        match self.rest(limits) {
            Ok(sample) => Ok(Sample { device_id, ..sample }),
            Err(invalid) => Err(Invalid { device_id: Some(device_id.into_owned()), ..invalid }),
        }
    }

    /// The sample without its device.
    fn rest(&mut self, limits: Limits) -> Result<Sample<'a>, Invalid> {
        let kind = name("type", self.text(Member::Type)?)?;
        let value = value(self.number(Member::Value)?, limits.value)?;
        let unit = unit(self.text(Member::Unit)?)?;
        let priority = self.priority()?;
        let timestamp = self.text(Member::Timestamp)?;
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

    fn take(&mut self, member: Member) -> Option<Value<'a>> {
        self.members[member as usize].take()
    }

    fn text(&mut self, member: Member) -> Result<Cow<'a, str>, Invalid> {
        match self.take(member) {
            Some(Value::Text(text)) => Ok(text),
            None => Err(Invalid::fixed(member.name(), "is missing")),
            Some(_) => Err(Invalid::fixed(member.name(), "must be a text")),
        }
    }

    fn number(&mut self, member: Member) -> Result<f64, Invalid> {
        match self.take(member) {
            Some(Value::Number(number)) => Ok(number),
            None => Err(Invalid::fixed(member.name(), "is missing")),
            Some(_) => Err(Invalid::fixed(member.name(), "must be a finite number")),
        }
    }

    fn priority(&mut self) -> Result<Priority, Invalid> {
        let invalid = || Invalid::fixed("priority", "must be HIGH, MEDIUM or LOW");
        match self.take(Member::Priority) {
            None => Ok(Priority::Medium),
            Some(Value::Text(word)) => Priority::from_word(&word).ok_or_else(invalid),
            Some(_) => Err(invalid()),
        }
    }

    fn metadata(&mut self) -> Result<Vec<(Cow<'a, str>, Scalar<'a>)>, Invalid> {
        let invalid = |reason| Err(Invalid::fixed("metadata", reason));
        let members = match self.take(Member::Metadata) {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Map(members)) => members,
            Some(_) => return invalid("must be an object"),
        };
        if members.len() > MAX_METADATA {
            return invalid("must have at most 16 members");
        }
        let fits = |(name, _): &(Cow<'a, str>, _)| (1..=MAX_METADATA_NAME_BYTES).contains(&name.len());
        if !members.iter().all(fits) {
            return invalid("must have members with names of 1 to 64 bytes");
        }
        if members
            .iter()
            .enumerate()
            .any(|(index, (name, _))| members[..index].iter().any(|(other, _)| other == name))
        {
            return invalid("must not have two members of one name");
        }
        let scalar = |(name, value)| match value {
            Value::Text(text) if text.len() <= MAX_METADATA_TEXT_BYTES => Some((name, Scalar::Text(text))),
            Value::Number(number) if number.is_finite() => Some((name, Scalar::Number(number))),
            Value::Bool(flag) => Some((name, Scalar::Bool(flag))),
            _ => None,
        };
        let scalars: Option<Vec<_>> = members.into_iter().map(scalar).collect();
        scalars.map_or_else(
            || invalid("must have texts of at most 256 bytes, numbers, true or false as members"),
            Ok,
        )
    }
}
