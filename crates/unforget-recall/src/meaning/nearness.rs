//! How near the documents of an index are to a query.

/// Number of documents that gain by their meaning: those behind them are near nothing in particular.
const NEAREST: usize = 500;

/// Least nearness of a document that gains: what is not nearer has nothing to do with the query. On the dev half it costs
/// nothing.
const LEAST: f32 = 0.25;

/// Nearness of the documents of an index to a query, by document; none for those without a vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Nearness {
    by_document: Vec<f32>,
}

impl Nearness {
    /// No document has a vector.
    pub fn none(documents: u32) -> Self {
        Self { by_document: vec![f32::NEG_INFINITY; documents as usize] }
    }

    /// Notes the nearness of one vector of a document. The nearest of its vectors counts.
    pub fn add(&mut self, document: u32, nearness: f32) {
        if let Some(slot) = self.by_document.get_mut(document as usize) {
            *slot = slot.max(nearness);
        }
    }

    /// Number of documents with a vector.
    pub fn known(&self) -> u64 {
        self.by_document.iter().filter(|nearness| nearness.is_finite()).count() as u64
    }

    /// What every document gains, from 0 to 1 for the nearest: the square of its place between the mean of all, or [`LEAST`], and the
    /// nearest; nothing behind the first [`NEAREST`]. The square was chosen on the dev half, as the other weights were.
    pub(crate) fn gains(&self, accepted: &dyn Fn(usize) -> bool) -> Vec<f32> {
        let places = self.by_document.iter().enumerate();
        let mut known: Vec<f32> = places
            .filter(|(place, near)| near.is_finite() && accepted(*place))
            .map(|(_, near)| *near)
            .collect();
        let mean = known.iter().map(|near| f64::from(*near)).sum::<f64>() / known.len().max(1) as f64;
        let mut floor = LEAST.max(mean as f32);
        if known.len() > NEAREST {
            let (_, last, _) = known.select_nth_unstable_by(NEAREST, |a, b| b.total_cmp(a));
            floor = floor.max(*last);
        }
        let most = known.iter().copied().fold(floor, f32::max);
        let range = most - floor;
        let gain =
            |near: f32| if range > 0.0 { ((near - floor) / range).clamp(0.0, 1.0).powi(2) } else { 0.0 };
        let gains = self.by_document.iter().enumerate();
        gains.map(|(place, near)| if accepted(place) { gain(*near) } else { 0.0 }).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "exact values")]
    use super::*;

    fn nearness(values: &[(u32, f32)], documents: u32) -> Nearness {
        let mut nearness = Nearness::none(documents);
        for (document, near) in values {
            nearness.add(*document, *near);
        }
        nearness
    }

    #[test]
    fn gains_table() {
        type Row<'a> = (&'a [(u32, f32)], &'a [f32], &'a str);
        let table: [Row<'_>; 6] = [
            (&[(0, 0.0), (1, 0.1), (2, 0.2)], &[0.0, 0.0, 0.0], "nothing is near"),
            (&[], &[0.0, 0.0, 0.0], "no vectors"),
            (&[(1, 0.4)], &[0.0, 0.0, 0.0], "one alone is near nothing in particular"),
            (&[(0, 0.0), (1, 0.4), (2, 0.8)], &[0.0, 0.0, 1.0], "above the mean"),
            (&[(0, 0.1), (2, 0.3), (2, 0.9), (2, 0.5)], &[0.0, 0.0, 1.0], "the nearest of several vectors"),
            (&[(7, 0.9), (0, 0.1), (1, 0.3)], &[0.0, 1.0, 0.0], "of no document"),
        ];
        for (values, want, why) in table {
            let found = nearness(values, 3).gains(&|_| true);
            assert!(
                found.iter().zip(want).all(|(found, want)| (found - want).abs() < 1e-6),
                "{why}: {found:?}"
            );
        }
        let scoped = nearness(&[(0, 0.1), (1, 0.3), (2, 0.9)], 3).gains(&|place| place < 2);
        assert_eq!((scoped[2], scoped[1] > 0.99), (0.0, true), "those out of scope do not count");
        assert_eq!(nearness(&[(0, 0.1), (0, 0.2)], 3).known(), 1);
    }

    #[test]
    fn only_the_nearest_gain() {
        let values: Vec<(u32, f32)> =
            (0..5000).map(|document| (document, document as f32 / 5000.0)).collect();
        let gains = nearness(&values, 5000).gains(&|_| true);
        assert_eq!(gains.iter().filter(|gain| **gain > 0.0).count(), NEAREST);
    }
}
