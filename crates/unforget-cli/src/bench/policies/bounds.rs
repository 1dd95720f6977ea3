//! How near the bound that admits a prompt is to the provider's count, call by call.

use serde::Serialize;

/// First calls of the rows.
const FROM: [usize; 4] = [1, 2, 11, 51];

/// The calls of all sessions between two numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct BoundJson {
    /// Number of the first call of a session; the row ends where the next one begins.
    from: usize,
    /// How many calls.
    calls: u64,
    /// Sum of their bounds over the sum of their counts.
    mean: f64,
    /// Least bound over its count. Below 1, a prompt may have been larger than was proved.
    least: f64,
}

/// Sums of bounds and counts, by the number of the call in its session.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds([BoundSum; FROM.len()]);

#[derive(Clone, Copy, Debug, Default)]
struct BoundSum {
    calls: u64,
    bounds: u64,
    counts: u64,
    least: Option<f64>,
}

impl Bounds {
    /// Takes a call.
    ///
    /// * `number` - in its session, from 1.
    pub(super) fn add(&mut self, number: usize, bound: u64, counted: u64) {
        let row = FROM.iter().rposition(|from| *from <= number).unwrap_or(0);
        let Some(sum) = self.0.get_mut(row).filter(|_| counted > 0) else { return };
        let share = bound as f64 / counted as f64;
        sum.calls += 1;
        sum.bounds += bound;
        sum.counts += counted;
        sum.least = Some(sum.least.map_or(share, |least| least.min(share)));
    }

    /// The rows that have calls.
    pub(super) fn rows(&self) -> Vec<BoundJson> {
        let rows = FROM.into_iter().zip(&self.0);
        let row = |(from, sum): (usize, &BoundSum)| {
            let mean = sum.bounds as f64 / sum.counts as f64;
            Some(BoundJson { from, calls: sum.calls, mean, least: sum.least? })
        };
        rows.filter_map(row).collect()
    }
}

impl BoundJson {
    /// A row for people.
    pub(super) fn cells(&self) -> [String; 4] {
        let next = FROM.iter().find(|from| **from > self.from);
        let calls =
            next.map_or_else(|| format!("{}-", self.from), |next| format!("{}-{}", self.from, next - 1));
        [calls, self.calls.to_string(), format!("{:.3}", self.mean), format!("{:.3}", self.least)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_summed_by_the_number_of_the_call() {
        let mut bounds = Bounds::default();
        for (number, bound, counted) in
            [(1, 150, 100), (2, 110, 100), (10, 330, 300), (11, 0, 0), (900, 90, 100)]
        {
            bounds.add(number, bound, counted);
        }
        let cells: Vec<String> = bounds.rows().iter().map(|row| row.cells().join(" ")).collect();
        assert_eq!(cells, ["1-1 1 1.500 1.500", "2-10 2 1.100 1.100", "51- 1 0.900 0.900"]);
    }
}
