//! The fields of binary messages: unsigned numbers in LEB128, floating-point numbers in eight bytes, texts with their length.

use crate::ClusterError;

/// A message that is being written.
pub(crate) trait Put {
    fn number(&mut self, value: u64);
    fn real(&mut self, value: f64);
    fn bytes(&mut self, value: &[u8]);

    fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }
}

impl Put for Vec<u8> {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.push(value as u8);
    }

    fn real(&mut self, value: f64) {
        self.extend_from_slice(&value.to_bits().to_be_bytes());
    }

    fn bytes(&mut self, value: &[u8]) {
        self.number(value.len() as u64);
        self.extend_from_slice(value);
    }
}

/// A message that is being read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    pub(crate) fn byte(&mut self) -> Result<u8, ClusterError> {
        let (&first, rest) = self.rest.split_first().ok_or_else(cut)?;
        self.rest = rest;
        Ok(first)
    }

    pub(crate) fn number(&mut self) -> Result<u64, ClusterError> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ClusterError::malformed("a number is longer than 64 bits"))
    }

    /// A number of another type.
    pub(crate) fn narrow<T: TryFrom<u64>>(&mut self) -> Result<T, ClusterError> {
        T::try_from(self.number()?).map_err(|_| ClusterError::malformed("a number is out of range"))
    }

    /// How many of something follow, at most so many.
    pub(crate) fn count(&mut self, most: usize) -> Result<usize, ClusterError> {
        let count = self.narrow::<usize>()?;
        if count > most || count > self.rest.len() {
            return Err(ClusterError::malformed("it announces more than it can contain"));
        }
        Ok(count)
    }

    /// A finite floating-point number.
    pub(crate) fn real(&mut self) -> Result<f64, ClusterError> {
        let (bits, rest) = self.rest.split_first_chunk::<8>().ok_or_else(cut)?;
        self.rest = rest;
        let value = f64::from_bits(u64::from_be_bytes(*bits));
        if value.is_finite() { Ok(value) } else { Err(ClusterError::malformed("a number is not finite")) }
    }

    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], ClusterError> {
        let length = self.narrow::<usize>()?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(cut)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, ClusterError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| ClusterError::malformed("a text is not UTF-8"))
    }

    /// Nothing follows.
    pub(crate) fn end(self) -> Result<(), ClusterError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(ClusterError::malformed("it is longer than its fields"))
        }
    }
}

fn cut() -> ClusterError {
    ClusterError::malformed("it ends in the middle of a field")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths_are_read_as_written() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 56, u64::MAX] {
            let mut message = Vec::new();
            message.number(value);
            let mut fields = Fields::of(&message);
            assert_eq!(fields.number().unwrap(), value);
            fields.end().unwrap();
        }
        assert!(Fields::of(&[0xff; 10]).number().is_err());
        assert!(Fields::of(&[0xff; 3]).number().is_err());
    }
}
