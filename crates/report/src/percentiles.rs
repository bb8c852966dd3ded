//! The percentiles that tables of response times show.

use std::str::FromStr;

/// More do not fit a table.
const MAX: usize = 8;

/// Percentiles in ascending order, in percent; at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct Percentiles(Vec<f64>);

/// Why a list of percentiles is none.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PercentilesError {
    /// A part of the list is not a number.
    #[error("`{0}` is not a percentile; write them like `50,90,99.9`")]
    NoNumber(String),
    /// A share of 1: it would be next to the least.
    #[error("percentiles are in percent: write `{percent}` for `{share}`")]
    Share { share: String, percent: f64 },
    /// A number that no percentile can be.
    #[error("a percentile is above 0 and at most 100, and `{0}` is not")]
    OutOfRange(String),
    /// The same twice.
    #[error("`{0}` is there twice")]
    Twice(String),
    /// Too many for a table.
    #[error("{0} percentiles are too many for a table: at most {MAX}")]
    TooMany(usize),
}

impl Default for Percentiles {
    fn default() -> Percentiles {
        Percentiles(vec![50.0, 90.0, 95.0, 99.0])
    }
}

impl Percentiles {
    /// Ascending, in percent.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// The head of a percentile's column: `p99.9`.
    pub(crate) fn head(percent: f64) -> String {
        format!("p{percent}")
    }
}

impl FromStr for Percentiles {
    type Err = PercentilesError;

    fn from_str(list: &str) -> Result<Percentiles, PercentilesError> {
        let mut percentiles: Vec<f64> = Vec::new();
        for part in list.split(',').map(str::trim) {
            let percent: f64 = part.parse().map_err(|_| PercentilesError::NoNumber(part.to_owned()))?;
            if !(percent > 0.0 && percent <= 100.0) {
                return Err(PercentilesError::OutOfRange(part.to_owned()));
            }
            if percent < 1.0 {
                // Rounded: 0.57 × 100 is 56.99999999999999.
                let percent = (percent * 1e8).round() / 1e6;
                return Err(PercentilesError::Share { share: part.to_owned(), percent });
            }
            if percentiles.contains(&percent) {
                return Err(PercentilesError::Twice(part.to_owned()));
            }
            percentiles.push(percent);
        }
        if percentiles.len() > MAX {
            return Err(PercentilesError::TooMany(percentiles.len()));
        }
        percentiles.sort_by(f64::total_cmp);
        Ok(Percentiles(percentiles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_percentiles_is_ascending_and_within_bounds() {
        let read = |list: &str| list.parse::<Percentiles>().map(|of| of.values().to_vec());
        assert_eq!(read("99.9, 50,100"), Ok(vec![50.0, 99.9, 100.0]));
        let heads: Vec<String> = [50.0, 99.9, 99.999, 100.0].map(Percentiles::head).into();
        assert_eq!(heads, ["p50", "p99.9", "p99.999", "p100"]);
        let refused = |list: &str| read(list).map_err(|error| error.to_string()).unwrap_err();
        assert_eq!(refused("50,p90"), "`p90` is not a percentile; write them like `50,90,99.9`");
        assert_eq!(refused(""), "`` is not a percentile; write them like `50,90,99.9`");
        for percent in ["0", "-1", "100.1", "nan", "inf"] {
            assert_eq!(
                refused(percent),
                format!("a percentile is above 0 and at most 100, and `{percent}` is not")
            );
        }
        assert_eq!(refused("0.95"), "percentiles are in percent: write `95` for `0.95`");
        assert_eq!(refused("0.57"), "percentiles are in percent: write `57` for `0.57`");
        assert_eq!(refused("50,50.0"), "`50.0` is there twice");
        assert_eq!(refused("1,2,3,4,5,6,7,8,9"), "9 percentiles are too many for a table: at most 8");
    }
}
