//! LEB128 variable-length integers.

/// Appends `value`, 7 bits per byte, low bits first.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes one integer off the front of `bytes`; `None` if it is cut off or longer than 64 bits.
#[inline]
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, rest) = bytes.split_first()?;
    *bytes = rest;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let mut value = u64::from(first & 0x7F);
    let mut shift = 7;
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7F);
        if shift > 63 || (shift == 63 && bits > 1) {
            return None;
        }
        value |= bits << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    proptest::proptest! {
        #[test]
        fn round_trip(value: u64) {
            let mut out = Vec::new();
            put(&mut out, value);
            let mut rest = out.as_slice();
            proptest::prop_assert_eq!(take(&mut rest).unwrap(), value);
            proptest::prop_assert!(rest.is_empty());
        }
    }

    #[test]
    fn hostile_bytes_are_refused() {
        for bytes in [&[][..], &[0x80], &[0xFF; 10], &[0xFF; 20]] {
            assert_eq!(take(&mut &*bytes), None);
        }
    }
}
