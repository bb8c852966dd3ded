//! Decimal numbers in headers, without going through text formatting.

/// The digits of a number, on the stack.
pub(crate) struct Digits {
    digits: [u8; 20],
    from: usize,
}

impl Digits {
    pub(crate) fn new(mut value: u64) -> Self {
        let mut digits = [0; 20];
        let mut from = digits.len();
        loop {
            from -= 1;
            digits[from] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                return Digits { digits, from };
            }
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.digits[self.from..]
    }
}

/// Digits only, at least one: no sign, no spaces, below 2^64.
pub(crate) fn parse(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_their_digits() {
        for value in [0, 7, 10, 65_535, u64::MAX] {
            assert_eq!(parse(Digits::new(value).as_bytes()), Some(value));
        }
        for wrong in [&b""[..], b"+1", b"-1", b" 1", b"1 ", b"1a", b"18446744073709551616"] {
            assert_eq!(parse(wrong), None);
        }
    }
}
