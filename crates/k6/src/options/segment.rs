//! Parts of a load that is offered by several runs: `executionSegment` and `executionSegmentSequence`.

use serde_json::Value;

use super::Options;
use super::error::OptionsError;
use super::fields::{FromJson, is_null_or_empty, mismatch};
use super::fraction::{Fraction, ONE, ZERO, greatest_common_divisor};
use super::part::InstancePart;

/// From one share of the whole to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutionSegment {
    from: Fraction,
    to: Fraction,
}

/// Where the parts of a whole begin and end, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentSequence(Vec<Fraction>);

impl ExecutionSegment {
    /// # Errors
    /// A message, if the text is neither a share such as `1/3`, `25%`, `0.25` nor two of them with a colon.
    pub fn parse(text: &str) -> Result<ExecutionSegment, String> {
        let point = |text: &str| {
            Fraction::parse(text).ok_or_else(|| {
                format!("{text:?} is not a share from 0 to 1, such as \"1/3\", \"25%\" or \"0.25\"")
            })
        };
        let (from, to) = match text.split_once(':') {
            None if text.is_empty() => (ZERO, ONE),
            None => (ZERO, point(text)?),
            Some((from, to)) => (point(from)?, point(to)?),
        };
        match from.is_below(to) {
            true => Ok(ExecutionSegment { from, to }),
            false => Err(format!("{text:?} must begin before it ends")),
        }
    }
}

impl SegmentSequence {
    /// # Errors
    /// A message, if the text is not a list of two or more ascending shares, separated by commas.
    pub fn parse(text: &str) -> Result<SegmentSequence, String> {
        let points: Option<Vec<_>> = text.split(',').map(Fraction::parse).collect();
        let points =
            points.filter(|points| points.len() > 1 && points.windows(2).all(|two| two[0].is_below(two[1])));
        points.map(SegmentSequence).ok_or_else(|| {
            format!("{text:?} is not a list of ascending shares from 0 to 1, such as \"0,1/3,2/3,1\"")
        })
    }
}

impl FromJson for ExecutionSegment {
    fn from_json(value: &Value) -> Result<ExecutionSegment, String> {
        ExecutionSegment::parse(value.as_str().ok_or_else(|| mismatch("a text such as \"0:1/3\"", value))?)
    }
}

impl FromJson for SegmentSequence {
    fn from_json(value: &Value) -> Result<SegmentSequence, String> {
        SegmentSequence::parse(
            value.as_str().ok_or_else(|| mismatch("a text such as \"0,1/3,2/3,1\"", value))?,
        )
    }

    fn is_unset(value: &Value) -> bool {
        is_null_or_empty(value)
    }
}

/// The part of the load that a run with these options offers.
///
/// # Errors
/// [`OptionsError`] when the segment is not part of the sequence, or parts are too fine.
pub(super) fn part_of(options: &Options) -> Result<InstancePart, OptionsError> {
    if options.execution_segment.is_none() && options.execution_segment_sequence.is_none() {
        return Ok(InstancePart::whole());
    }
    let segment = options.execution_segment.unwrap_or(ExecutionSegment { from: ZERO, to: ONE });
    let named = match &options.execution_segment_sequence {
        Some(SegmentSequence(points)) => points.clone(),
        None => vec![segment.from, segment.to],
    };
    let mut points = [vec![ZERO], named, vec![ONE]].concat();
    points.dedup();
    let Some(index) = points.windows(2).position(|two| [segment.from, segment.to] == two) else {
        let problem = "executionSegment is not part of executionSegmentSequence";
        return Err(OptionsError::Problems(vec![problem.to_owned()]));
    };
    part(&points, index).ok_or_else(|| OptionsError::Unsupported {
        option: "executionSegment in parts below a millionth".to_owned(),
        reason: "write its ends with smaller numbers, such as 1/3",
    })
}

/// The part between two of the points; none where parts are too fine.
fn part(points: &[Fraction], index: usize) -> Option<InstancePart> {
    let common = points.iter().try_fold(1u64, |common, point| {
        let factor = point.whole / greatest_common_divisor(common, point.whole);
        common.checked_mul(factor)
    })?;
    let at = |point: &Fraction| point.of * (common / point.whole);
    let lengths: Vec<u64> = points.windows(2).map(|two| at(&two[1]) - at(&two[0])).collect();
    let divisor = lengths.iter().copied().fold(0, greatest_common_divisor);
    InstancePart::new(lengths.iter().map(|length| length / divisor).collect(), index)
}
