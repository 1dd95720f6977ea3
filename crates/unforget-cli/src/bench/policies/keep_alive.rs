//! The price of a cache that is kept alive by calls without content, and what it would save.

use serde::Serialize;
use unforget_core::cache::{Change, Known, Served};
use unforget_engine::replay::Prices;

/// Most calls per pause that are tried.
const TRIED: [u64; 3] = [1, 3, 12];

/// A call goes out this long before the cache runs out, in thousandths of its lifetime.
const EARLY_PERMILLE: u64 = 100;

/// Cost of the same prompts with a cache that is kept alive through pauses.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct KeepAliveJson {
    /// Calls per pause at most.
    pub(super) most: u64,
    /// Calls that went out.
    pub(super) calls: u64,
    /// Their cost, in US dollars.
    pub(super) cost: f64,
    /// What prompts behind pauses cost less, in US dollars.
    pub(super) saved: f64,
}

/// Simulates keeping the cache alive. Nobody knows the length of a pause beforehand, so that calls go out in every one; those
/// behind the newest call of a session are not known, and not counted.
///
/// * `seen` - of prompts that were made without it: breaks that a cold cache made free stay where they were.
pub(super) fn keep_alive(seen: &[(Known<&'static str>, Served)], prices: &Prices) -> Vec<KeepAliveJson> {
    let every = prices.cache_ttl_ms - prices.cache_ttl_ms * EARLY_PERMILLE / 1_000;
    let dollars = |tokens: f64| tokens * prices.input / 1e6;
    let sum = |most: u64| {
        let mut sum = KeepAliveJson { most, calls: 0, cost: 0.0, saved: 0.0 };
        for (known, served) in seen.iter().filter(|(known, _)| known.change != Change::First) {
            let idle = known.idle_ms.unwrap_or(0);
            let calls = (idle / every).min(most);
            sum.calls += calls;
            sum.cost += dollars(calls as f64 * known.before as f64 * prices.read);
            let was_cold = idle > prices.cache_ttl_ms;
            if was_cold && known.change == Change::Grew && idle <= calls * every + prices.cache_ttl_ms {
                let held = known.before.min(served.input).saturating_sub(served.cached);
                sum.saved += dollars(held as f64 * (prices.write - prices.read));
            }
        }
        sum
    };
    TRIED.into_iter().map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_alive_table() {
        let prices = Prices { input: 1.0, write: 1.25, read: 0.1, cache_ttl_ms: 100 };
        let call = |change, idle_ms| {
            let known = Known { change, before: 1_000_000, idle_ms: Some(idle_ms), ttl_ms: 100 };
            (known, Served { input: 1_100_000, cached: if idle_ms > 100 { 0 } else { 1_000_000 } })
        };
        let table = [
            (Change::Grew, 50, [(0, 0), (0, 0), (0, 0)], "no pause"),
            (Change::Grew, 95, [(1, 0), (1, 0), (1, 0)], "the cache would have lasted"),
            (Change::Grew, 180, [(1, 1), (2, 1), (2, 1)], "one call bridges the pause"),
            (Change::Grew, 300, [(1, 0), (3, 1), (3, 1)], "one is not enough"),
            (Change::Grew, 10_000, [(1, 0), (3, 0), (12, 0)], "a night: all in vain"),
            (Change::ByUs("compaction"), 180, [(1, 0), (2, 0), (2, 0)], "it broke anyway"),
            (Change::First, 180, [(0, 0), (0, 0), (0, 0)], "there was nothing to keep"),
        ];
        for (change, idle, want, why) in table {
            let found = keep_alive(&[call(change, idle)], &prices);
            for (found, (calls, saves)) in found.iter().zip(want) {
                assert_eq!(found.calls, calls, "{why}: {}", found.most);
                assert!((found.cost - calls as f64 * 0.1).abs() < 1e-9, "{why}");
                assert!((found.saved - f64::from(saves) * 1.15).abs() < 1e-9, "{why}: {}", found.saved);
            }
        }
    }
}
