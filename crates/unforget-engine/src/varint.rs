//! Variable-length integers in stored data: seven bits per byte, lowest bits first; the top bit announces another byte
//! (LEB128).

/// Appends a number in at most ten bytes.
pub(crate) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number from the front. `None` if the bytes end early, or if the number exceeds 64 bits.
pub(crate) fn take(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_table() {
        for number in [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            for cut in 0..bytes.len() {
                assert_eq!(take(&mut bytes.get(..cut).unwrap_or_default()), None, "cut off");
            }
            bytes.push(9);
            let from = &mut bytes.as_slice();
            assert_eq!((take(from), *from), (Some(number), [9].as_slice()));
        }
        let mut large = vec![0xff; 9];
        large.push(2);
        assert_eq!(take(&mut large.as_slice()), None, "65 bits");
        assert_eq!(take(&mut [0x80; 11].as_slice()), None, "too long");
    }
}
