//! Vectors as signs.
//!
//! A vector is turned in a fixed way (signs by place, then a Hadamard transform), so that every sign says equally much of
//! it whatever its length, and the first signs of the result are kept. A query keeps its numbers: the product of numbers
//! with signs orders vectors much better than signs with signs.

/// Bytes of a code.
pub const CODE_BYTES: usize = 48;

/// Signs of a code.
const SIGNS: usize = CODE_BYTES * 8;

/// The code of a vector of any length.
///
/// Cost: O(n log n) for n numbers.
pub fn code(vector: &[f32]) -> [u8; CODE_BYTES] {
    let turned = turned(vector);
    let mut code = [0; CODE_BYTES];
    for (byte, numbers) in code.iter_mut().zip(turned.chunks(8)) {
        for (bit, number) in numbers.iter().enumerate() {
            *byte |= u8::from(*number > 0.0) << bit;
        }
    }
    code
}

/// The first [`SIGNS`] numbers of a turned vector.
fn turned(vector: &[f32]) -> Vec<f32> {
    let size = vector.len().max(SIGNS).next_power_of_two();
    let mut numbers = vec![0.0; size];
    for (place, (to, from)) in numbers.iter_mut().zip(vector).enumerate() {
        *to = if flips(place as u64) { -from } else { *from };
    }
    let mut half = 1;
    while half < size {
        for pair in numbers.chunks_exact_mut(2 * half) {
            let (left, right) = pair.split_at_mut(half);
            for (one, two) in left.iter_mut().zip(right) {
                (*one, *two) = (*one + *two, *one - *two);
            }
        }
        half *= 2;
    }
    numbers.truncate(SIGNS);
    numbers
}

/// Whether the number at a place changes its sign: a fixed choice that looks random (`SplitMix64`).
const fn flips(place: u64) -> bool {
    let mixed = (place.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) & 1 == 1
}

/// The vector of a query, ready to be compared with codes.
#[derive(Clone)]
pub struct CodedQuery {
    /// For each byte of a code, what each of its values adds.
    tables: Vec<[f32; 256]>,
}

impl CodedQuery {
    /// * `vector` - of length 1.
    pub fn new(vector: &[f32]) -> Self {
        let turned = turned(vector);
        let length = turned.iter().map(|number| number * number).sum::<f32>().sqrt();
        // The sum over signs of the vector itself is about this large.
        let by = (std::f32::consts::FRAC_PI_2 / SIGNS as f32).sqrt() / length.max(f32::MIN_POSITIVE);
        let table = |numbers: &[f32]| {
            let mut table = [0.0; 256];
            for (value, sum) in (0_u32..).zip(&mut table) {
                let signed =
                    |(bit, number): (usize, &f32)| if value >> bit & 1 == 1 { *number } else { -number };
                *sum = by * numbers.iter().enumerate().map(signed).sum::<f32>();
            }
            table
        };
        Self { tables: turned.chunks(8).map(table).collect() }
    }

    /// About the cosine between the query and the vector of a code.
    pub fn nearness(&self, code: &[u8; CODE_BYTES]) -> f32 {
        let value =
            |(table, byte): (&[f32; 256], &u8)| table.get(usize::from(*byte)).copied().unwrap_or_default();
        self.tables.iter().zip(code).map(value).sum()
    }
}

impl std::fmt::Debug for CodedQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodedQuery").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    fn unit(seed: u64, length: usize) -> Vec<f32> {
        let number = |place: u64| {
            let bits = (seed.wrapping_mul(7919).wrapping_add(place)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            ((bits ^ (bits >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 40) as f32 / f32::from(1_u16 << 12)
                - 2048.0
        };
        let vector: Vec<f32> = (0..length as u64).map(number).collect();
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        vector.iter().map(|number| number / length).collect()
    }

    proptest! {
        #[test]
        fn nearness_is_about_the_cosine(seed: u64, length in 200_usize..2000, share in 0.0_f32..1.0) {
            let (query, other) = (unit(seed, length), unit(seed.wrapping_add(1), length));
            let mixed: Vec<f32> = query.iter().zip(&other).map(|(a, b)| share * a + (1.0 - share) * b).collect();
            let size = mixed.iter().map(|number| number * number).sum::<f32>().sqrt();
            let cosine = query.iter().zip(&mixed).map(|(a, b)| a * b).sum::<f32>() / size;
            let found = CodedQuery::new(&query).nearness(&code(&mixed));
            prop_assert!((found - cosine).abs() < 0.25, "{found} for {cosine}");
        }
    }

    #[test]
    fn codes_are_stored_so_they_never_change() {
        // Computed once by another program.
        let head = |length: u16| {
            let vector: Vec<f32> = (0..length).map(|place| f32::from(place * 37 % 101) - 50.0).collect();
            code(&vector).first_chunk::<4>().copied().unwrap()
        };
        let want = [[231, 231, 231, 231], [40, 159, 106, 125], [106, 111, 28, 191]];
        assert_eq!([head(8), head(384), head(1536)], want);
    }

    #[test]
    fn any_vector_has_a_code() {
        assert_eq!(code(&[]), [0; CODE_BYTES]);
        assert!(CodedQuery::new(&[]).nearness(&[255; CODE_BYTES]).abs() < 1e-6);
    }
}
