//! Bits, low ones first, and the codes of the blocks.

/// Longest run of zeros in a [`BitWriter::rice`] code; after this many the number follows in 32 bits.
const ZEROS_MAX: u32 = 20;

/// Longest run of zeros in a [`BitWriter::gamma`] code.
const GAMMA_MAX: u32 = 24;

/// The lowest `width` bits, `width` at most 32.
fn mask(width: u32) -> u64 {
    (1 << width) - 1
}

/// Writes bits.
#[derive(Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that are not in `bytes` yet, fewer than 32.
    word: u64,
    used: u32,
}

impl BitWriter {
    /// * `width` - at most 32; `value` has no higher bits.
    #[inline]
    pub(super) fn put(&mut self, value: u64, width: u32) {
        self.word |= value << self.used;
        self.used += width;
        if self.used >= 32 {
            self.bytes.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.used -= 32;
        }
    }

    /// A code that is short for small numbers: `value >> k` zeros, a one, the lowest `k` bits.
    ///
    /// * `k` - at most 31.
    #[inline]
    pub(super) fn rice(&mut self, value: u32, k: u32) {
        let zeros = value >> k;
        if zeros < ZEROS_MAX {
            self.put(1 << zeros, zeros + 1);
            self.put(u64::from(value) & mask(k), k);
        } else {
            self.put(1 << ZEROS_MAX, ZEROS_MAX + 1);
            self.put(u64::from(value), 32);
        }
    }

    /// A code of as many zeros as the number has bits below its highest, then a one, then those bits.
    ///
    /// * `value` - from 1 to 2^24.
    pub(super) fn gamma(&mut self, value: u32) {
        let zeros = value.max(1).ilog2().min(GAMMA_MAX);
        self.put(1 << zeros, zeros + 1);
        self.put(u64::from(value) & mask(zeros), zeros);
    }

    /// Bits written so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() * 8 + self.used as usize
    }

    /// The bytes, the last one padded with zeros. Empties the writer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.bytes);
        let left = self.used.div_ceil(8) as usize;
        bytes.extend(self.word.to_le_bytes().into_iter().take(left));
        (self.word, self.used) = (0, 0);
        bytes
    }
}

/// Number of bits of a [`BitWriter::rice`] code.
#[inline]
pub(super) fn rice_bits(value: u32, k: u32) -> usize {
    let zeros = value >> k;
    if zeros < ZEROS_MAX { (zeros + 1 + k) as usize } else { ZEROS_MAX as usize + 33 }
}

/// Reads bits. `None` at the end and for codes that no writer produces.
#[derive(Clone, Copy, Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// Place of the next bit.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Number of remaining bits.
    pub(super) fn left(&self) -> usize {
        (self.bytes.len() * 8).saturating_sub(self.at)
    }

    /// At least the next 57 bits, zeros after the end.
    #[inline]
    fn peek(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk::<8>() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        word >> (self.at % 8)
    }

    #[inline]
    fn advance(&mut self, width: u32) -> Option<()> {
        self.at += width as usize;
        (self.at <= self.bytes.len() * 8).then_some(())
    }

    /// * `width` - at most 32.
    #[inline]
    pub(super) fn take(&mut self, width: u32) -> Option<u32> {
        let value = self.peek() & mask(width);
        self.advance(width)?;
        Some(value as u32)
    }

    /// Skips some bits.
    pub(super) fn skip(&mut self, width: u32) -> Option<()> {
        self.advance(width)
    }

    /// Reads a [`BitWriter::rice`] code.
    #[inline]
    pub(super) fn rice(&mut self, k: u32) -> Option<u32> {
        let word = self.peek();
        let zeros = word.trailing_zeros();
        if zeros < ZEROS_MAX {
            self.advance(zeros + 1 + k)?;
            let high = u64::from(zeros) << k;
            return u32::try_from(high | (word >> (zeros + 1)) & mask(k)).ok();
        }
        if zeros > ZEROS_MAX {
            return None;
        }
        self.advance(ZEROS_MAX + 33)?;
        Some((word >> (ZEROS_MAX + 1)) as u32)
    }

    /// Reads a [`BitWriter::gamma`] code.
    #[inline]
    pub(super) fn gamma(&mut self) -> Option<u32> {
        let word = self.peek();
        let zeros = word.trailing_zeros();
        if zeros > GAMMA_MAX {
            return None;
        }
        self.advance(2 * zeros + 1)?;
        Some((1 << zeros | (word >> (zeros + 1)) & mask(zeros)) as u32)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trip(codes in prop::collection::vec((any::<u32>(), 0_u32..32, 0_u8..3), 0..60)) {
            let mut writer = BitWriter::default();
            let mut bits = 0;
            for &(value, k, kind) in &codes {
                match kind {
                    0 => writer.put(u64::from(value) & mask(k), k),
                    1 => writer.rice(value, k),
                    _ => writer.gamma((value >> (8 + k % 24)).max(1)),
                }
                if kind == 1 {
                    prop_assert_eq!(writer.len() - bits, rice_bits(value, k));
                }
                bits = writer.len();
            }
            let bytes = writer.take();
            prop_assert_eq!(bytes.len(), bits.div_ceil(8));
            let mut reader = BitReader::new(&bytes);
            for &(value, k, kind) in &codes {
                match kind {
                    0 => prop_assert_eq!(u64::from(reader.take(k).unwrap()), u64::from(value) & mask(k)),
                    1 => prop_assert_eq!(reader.rice(k).unwrap(), value),
                    _ => prop_assert_eq!(reader.gamma().unwrap(), (value >> (8 + k % 24)).max(1)),
                }
            }
            prop_assert!(reader.left() < 8);
        }
    }

    #[test]
    fn hostile_bits_are_refused() {
        for bytes in [&[][..], &[0], &[0; 40], &[0, 0, 0x10]] {
            let reader = BitReader::new(bytes);
            assert_eq!((reader.clone().rice(3), reader.clone().gamma()), (None, None), "{bytes:?}");
        }
        assert_eq!(BitReader::new(&[0xFF]).take(9), None);
    }
}
