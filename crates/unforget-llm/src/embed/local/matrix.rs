//! Products of matrices, and the other loops over numbers that a network needs, for whatever vector unit there is.
#![allow(
    clippy::inline_always,
    reason = "loops are compiled for the vector unit of their caller, or not at all"
)]

use fearless_simd::{Level, Simd, dispatch, f32x16, prelude::*};

/// Columns of a panel.
const WIDTH: usize = 16;

/// Rows that are multiplied at once.
const ROWS: usize = 6;

/// A matrix of weights, packed for products: panels of [`WIDTH`] outputs, each with all inputs.
pub(super) struct Packed {
    panels: Vec<f32>,
    inputs: usize,
    outputs: usize,
}

impl Packed {
    /// Packs weights.
    ///
    /// * `weights` - a row of `inputs` numbers for each output. What is missing counts as 0.
    pub(super) fn new(weights: &[f32], inputs: usize, outputs: usize) -> Self {
        let mut packed = Self { panels: Vec::new(), inputs: 0, outputs: 0 };
        packed.pack(weights, inputs, outputs);
        packed
    }

    /// Takes other weights, in the memory of these.
    pub(super) fn pack(&mut self, weights: &[f32], inputs: usize, outputs: usize) {
        (self.inputs, self.outputs) = (inputs, outputs);
        self.panels.clear();
        self.panels.resize(inputs * outputs.div_ceil(WIDTH) * WIDTH, 0.0);
        if inputs == 0 {
            return;
        }
        let panels = self.panels.chunks_exact_mut(inputs * WIDTH);
        for (panel, rows) in panels.zip(weights.chunks(inputs * WIDTH)) {
            for (column, row) in rows.chunks(inputs).enumerate() {
                let slots = panel.get_mut(column..).unwrap_or_default().iter_mut().step_by(WIDTH);
                slots.zip(row).for_each(|(slot, weight)| *slot = *weight);
            }
        }
    }
}

/// Rows interleaved for products: groups of [`ROWS`] rows, each as `inputs` arrays.
#[derive(Default)]
pub(super) struct Interleaved(Vec<[f32; ROWS]>);

impl Interleaved {
    fn fill(&mut self, rows: &[f32], inputs: usize) {
        self.0.clear();
        for group in rows.chunks(inputs * ROWS) {
            let start = self.0.len();
            self.0.resize(start + inputs, [0.0; ROWS]);
            let arrays = self.0.get_mut(start..).unwrap_or_default();
            for (place, row) in group.chunks(inputs).enumerate() {
                for (array, value) in arrays.iter_mut().zip(row) {
                    if let Some(slot) = array.get_mut(place) {
                        *slot = *value;
                    }
                }
            }
        }
    }
}

/// Multiplies rows by weights: `out` becomes a row of results for each row of `rows`.
///
/// * `scratch` - memory that is used again.
pub(super) fn multiply(
    level: Level,
    rows: &[f32],
    weights: &Packed,
    scratch: &mut Interleaved,
    out: &mut Vec<f32>,
) {
    let Packed { inputs, outputs, .. } = *weights;
    out.clear();
    if inputs == 0 {
        return;
    }
    scratch.fill(rows, inputs);
    out.resize(rows.len() / inputs * outputs, 0.0);
    dispatch!(level, simd => products(simd, &scratch.0, weights, out));
}

#[inline(always)]
fn products<S: Simd>(simd: S, rows: &[[f32; ROWS]], weights: &Packed, out: &mut [f32]) {
    let Packed { panels, inputs, outputs } = weights;
    for (number, panel) in panels.chunks_exact(inputs * WIDTH).enumerate() {
        let (panel, _) = panel.as_chunks::<WIDTH>();
        let first = number * WIDTH;
        for (group, results) in rows.chunks_exact(*inputs).zip(out.chunks_mut(outputs * ROWS)) {
            let sums = block(simd, group, panel);
            for (sum, result) in sums.into_iter().zip(results.chunks_mut(*outputs)) {
                let sum: [f32; WIDTH] = sum.into();
                let slots = result.get_mut(first..).unwrap_or_default();
                slots.iter_mut().zip(sum).for_each(|(slot, sum)| *slot = sum);
            }
        }
    }
}

#[inline(always)]
fn block<S: Simd>(simd: S, rows: &[[f32; ROWS]], panel: &[[f32; WIDTH]]) -> [f32x16<S>; ROWS] {
    let mut sums = [f32x16::splat(simd, 0.0); ROWS];
    for (values, weights) in rows.iter().zip(panel) {
        let weights = f32x16::from_slice(simd, weights);
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum = f32x16::splat(simd, *value).mul_add(weights, *sum);
        }
    }
    sums
}

/// Adds a bias to every row.
pub(super) fn add_bias(rows: &mut [f32], bias: &[f32]) {
    for row in rows.chunks_mut(bias.len().max(1)) {
        row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
    }
}

/// The activation between the two matrices of a layer: GELU, by the error function.
pub(super) fn gelu(level: Level, values: &mut [f32]) {
    dispatch!(level, simd => gelu_all(simd, values));
}

#[inline(always)]
fn gelu_all<S: Simd>(_: S, values: &mut [f32]) {
    for value in values {
        let x = (*value * std::f32::consts::FRAC_1_SQRT_2).abs();
        // Abramowitz and Stegun 7.1.28: within 3e-7.
        let mut sum = 1.0 + x * (0.070_523_08 + x * (0.042_282_01 + x * (0.009_270_527 + x * rest(x))));
        for _ in 0..4 {
            sum *= sum;
        }
        let erf = (1.0 - 1.0 / sum).copysign(*value);
        *value *= 0.5 * (1.0 + erf);
    }
}

#[inline(always)]
fn rest(x: f32) -> f32 {
    0.000_152_014_3 + x * (0.000_276_567_2 + x * 0.000_043_063_8)
}

/// Softmax of every row, after a factor.
pub(super) fn softmax(level: Level, rows: &mut [f32], length: usize, factor: f32) {
    dispatch!(level, simd => softmax_all(simd, rows, length, factor));
}

#[inline(always)]
fn softmax_all<S: Simd>(_: S, rows: &mut [f32], length: usize, factor: f32) {
    for row in rows.chunks_mut(length.max(1)) {
        let most = larger(row);
        for value in row.iter_mut() {
            *value = power((*value - most) * factor);
        }
        let by = 1.0 / summed(row, |value| value);
        for value in row.iter_mut() {
            *value *= by;
        }
    }
}

/// The largest number, found in any order, so that a vector unit compares many at once.
#[inline(always)]
fn larger(row: &[f32]) -> f32 {
    let pick = |one: f32, two: f32| if two > one { two } else { one };
    let (chunks, rest) = row.as_chunks::<WIDTH>();
    let mut lanes = [f32::NEG_INFINITY; WIDTH];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane = pick(*lane, *value));
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(f32::NEG_INFINITY, pick)
}

/// The sum of what a function makes of each number, added in any order.
#[inline(always)]
fn summed(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = row.as_chunks::<WIDTH>();
    let mut lanes = [0.0; WIDTH];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane += of(*value));
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|value| of(*value)).sum::<f32>()
}

/// The exponential of a number that is not above 0, within 1e-6 of its value; 0 far below.
#[inline(always)]
fn power(x: f32) -> f32 {
    let two = (x * std::f32::consts::LOG2_E).max(-126.0);
    let whole = two.floor();
    let part = (two - whole) * std::f32::consts::LN_2;
    let series = 1.0
        + part * (1.0 + part * (0.5 + part * (0.166_666_67 + part * (0.041_666_67 + part * higher(part)))));
    series * f32::from_bits((((whole as i32) + 127) << 23) as u32)
}

#[inline(always)]
fn higher(part: f32) -> f32 {
    0.008_333_334 + part * (0.001_388_889 + part * 0.000_198_412_7)
}

/// Scale and shift after a normalisation, and what is added to the variance before.
#[derive(Clone, Copy)]
pub(super) struct NormBy<'a> {
    pub(super) scale: &'a [f32],
    pub(super) shift: &'a [f32],
    pub(super) epsilon: f32,
}

/// Normalises every row to mean 0 and variance 1, then scales and shifts each place.
pub(super) fn normalise(level: Level, rows: &mut [f32], by: NormBy<'_>) {
    dispatch!(level, simd => normalise_all(simd, rows, by));
}

#[inline(always)]
fn normalise_all<S: Simd>(_: S, rows: &mut [f32], NormBy { scale, shift, epsilon }: NormBy<'_>) {
    for row in rows.chunks_mut(scale.len().max(1)) {
        let count = row.len() as f32;
        let mean = summed(row, |value| value) / count;
        let variance = summed(row, |value| (value - mean) * (value - mean)) / count;
        let by = 1.0 / (variance + epsilon).sqrt();
        for ((value, scale), shift) in row.iter_mut().zip(scale).zip(shift) {
            *value = (*value - mean) * by * scale + shift;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plainly(rows: &[f32], weights: &[f32], inputs: usize) -> Vec<f32> {
        let product = |row: &[f32], weights: &[f32]| row.iter().zip(weights).map(|(a, b)| a * b).sum();
        rows.chunks(inputs)
            .flat_map(|row| weights.chunks(inputs).map(move |weights| product(row, weights)))
            .collect()
    }

    proptest! {
        #[test]
        fn products_are_those_of_the_plain_way(
            rows in 0_usize..20, inputs in 1_usize..40, outputs in 0_usize..40, seed in 0_u32..1000,
        ) {
            let number = |at: usize| ((at as u32).wrapping_mul(2_654_435_761).wrapping_add(seed) % 17) as f32 - 8.0;
            let left: Vec<f32> = (0..rows * inputs).map(number).collect();
            let right: Vec<f32> = (0..outputs * inputs).map(|at| number(at + 7)).collect();
            let (mut scratch, mut out) = (Interleaved::default(), Vec::new());
            let packed = Packed::new(&right, inputs, outputs);
            multiply(Level::new(), &left, &packed, &mut scratch, &mut out);
            prop_assert_eq!(out, plainly(&left, &right, inputs));
        }
    }

    #[test]
    fn rows_are_normalised_and_shared_out() {
        for length in [1, 5, 16, 37, 384] {
            let row: Vec<f32> = (0..length).map(|place| ((place * 7) % 11) as f32).collect();
            let mut normal = row.clone();
            let (scale, shift) = (vec![1.0; length], vec![0.0; length]);
            normalise(Level::new(), &mut normal, NormBy { scale: &scale, shift: &shift, epsilon: 1e-12 });
            let mean = row.iter().sum::<f32>() / length as f32;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / length as f32;
            for (found, value) in normal.iter().zip(&row) {
                assert!((found - (value - mean) / (variance + 1e-12).sqrt()).abs() < 1e-4, "{length}");
            }
            let mut shares = row.clone();
            softmax(Level::new(), &mut shares, length, 0.5);
            let sum: f32 = row.iter().map(|value| (value * 0.5).exp()).sum();
            for (found, value) in shares.iter().zip(&row) {
                assert!((found - (value * 0.5).exp() / sum).abs() < 1e-5, "{length}");
            }
        }
    }

    #[test]
    fn functions_are_close_to_the_exact_ones() {
        let table = [(-9.0, 0.0), (-1.0, -0.158_655_25), (0.0, 0.0), (0.5, 0.345_731_23), (3.0, 2.995_950_2)];
        for (x, want) in table {
            let mut values = [x];
            gelu(Level::new(), &mut values);
            assert!((values[0] - want).abs() < 2e-6, "{x}: {values:?}");
        }
        for x in [0.0_f32, -0.3, -1.0, -7.5, -80.0, -1e9] {
            assert!((power(x) - x.exp()).abs() <= 2e-6 * x.exp() + 1e-30, "{x}: {}", power(x));
        }
    }
}
