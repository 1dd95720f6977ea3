//! The ledger of a provider's cache: its fate in each call, and the cost.
//!
//! A provider bills a prompt's beginning at a fraction of the price if it has read that beginning before. Tokens of the
//! previous prompt that were not served from the cache are a miss. A miss has a cause: the last call was too long ago,
//! the client changed the beginning, we changed it, or the cause is unknown. All figures are the provider's own counts,
//! never ours.
//! knows. What is shown is the provider's own count, never ours.

use std::collections::BTreeMap;

use crate::recover::share;

/// The previous prompt counts as served from this share on, in thousandths. Providers cache whole blocks of some
/// hundred tokens and never the last partial block.
pub const HIT_PERMILLE: u64 = 800;

/// How the previous prompt relates to this one. `C` names our causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<C> {
    /// No previous prompt is known.
    First,
    /// This prompt begins with the previous one.
    Grew,
    /// The client changed the beginning, the instructions, the tools or the model.
    ByClient,
    /// We changed the beginning.
    ByUs(C),
}

/// Facts about a call that the provider does not report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known<C> {
    /// How the previous prompt relates to this one.
    pub change: Change<C>,
    /// Tokens of the previous prompt, by the provider's count; 0 if there is none.
    pub before: u64,
    /// Milliseconds since the previous call, if known.
    pub idle_ms: Option<u64>,
    /// How long the provider caches a prompt.
    pub ttl_ms: u64,
}

/// The provider's count of a call's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Tokens of the whole input.
    pub input: u64,
    /// Tokens of the input that came from the cache.
    pub cached: u64,
}

/// The fate of the cache in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CacheFate<C> {
    /// The previous prompt was served from the cache.
    Hit,
    /// There was no previous prompt to serve.
    First,
    /// The cache had expired: the previous call was too long ago.
    Cold,
    /// The client changed the beginning.
    Client,
    /// We changed it, for this cause.
    Ours(C),
    /// The beginning is unchanged and recent but was not served, or the provider did not count.
    Unknown,
}

impl<C> CacheFate<C> {
    /// Name for reports, in kebab-case, without the cause.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::First => "first",
            Self::Cold => "cold",
            Self::Client => "client",
            Self::Ours(_) => "ours",
            Self::Unknown => "unknown",
        }
    }
}

/// Prices of input, in thousandths of the price of fresh, uncached input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratios {
    /// Fresh input that the provider writes to its cache.
    pub write_permille: u64,
    /// Input read from the cache.
    pub read_permille: u64,
}

/// Determines the fate of the cache in a call, and how many tokens of the previous prompt were billed anew.
///
/// An expired cache is the cause whoever changed the beginning: the change then cost nothing.
///
/// * `served` - `None` if the provider did not count.
pub fn fate<C: Copy>(known: &Known<C>, served: Option<Served>) -> (CacheFate<C>, u64) {
    let Some(Served { input, cached }) = served else { return (CacheFate::Unknown, 0) };
    if matches!(known.change, Change::First) || known.before == 0 {
        return (CacheFate::First, 0);
    }
    let wanted = known.before.min(input);
    let missed = wanted.saturating_sub(cached);
    if cached >= share(wanted, HIT_PERMILLE) {
        return (CacheFate::Hit, missed);
    }
    let is_cold = known.idle_ms.is_some_and(|idle| idle > known.ttl_ms);
    let fate = match known.change {
        _ if is_cold => CacheFate::Cold,
        Change::ByUs(cause) => CacheFate::Ours(cause),
        Change::ByClient => CacheFate::Client,
        Change::Grew | Change::First => CacheFate::Unknown,
    };
    (fate, missed)
}

/// Sums over calls with one fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of calls.
    pub calls: u64,
    /// Tokens of previous prompts that were billed anew.
    pub missed: u64,
    /// Extra cost over a served cache, in tokens of fresh input.
    pub lost: u64,
}

/// Sums over calls, in tokens by the provider's count. Memory: one row per fate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheLedger<C> {
    /// All input.
    pub input: u64,
    /// Tokens of the input that came from the cache.
    pub cached: u64,
    /// Cost of the input, in tokens of fresh input.
    pub cost: u64,
    rows: BTreeMap<CacheFate<C>, Sum>,
}

impl<C: Ord> Default for CacheLedger<C> {
    fn default() -> Self {
        Self { input: 0, cached: 0, cost: 0, rows: BTreeMap::new() }
    }
}

impl<C: Copy + Ord> CacheLedger<C> {
    /// Adds a call and returns the fate of the cache in it.
    pub fn add(&mut self, known: &Known<C>, served: Option<Served>, ratios: Ratios) -> CacheFate<C> {
        let (fate, missed) = fate(known, served);
        let Served { input, cached } = served.unwrap_or(Served { input: 0, cached: 0 });
        let fresh = input.saturating_sub(cached);
        self.input = self.input.saturating_add(input);
        self.cached = self.cached.saturating_add(cached);
        let cost = share(fresh, ratios.write_permille).saturating_add(share(cached, ratios.read_permille));
        self.cost = self.cost.saturating_add(cost);
        let row = self.rows.entry(fate).or_default();
        row.calls += 1;
        row.missed = row.missed.saturating_add(missed);
        let more = ratios.write_permille.saturating_sub(ratios.read_permille);
        row.lost = row.lost.saturating_add(share(missed, more));
        fate
    }

    /// Adds the sums of another ledger.
    pub fn join(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.cost = self.cost.saturating_add(other.cost);
        for (fate, sum) in &other.rows {
            let row = self.rows.entry(*fate).or_default();
            row.calls += sum.calls;
            row.missed = row.missed.saturating_add(sum.missed);
            row.lost = row.lost.saturating_add(sum.lost);
        }
    }

    /// The rows, in the order of [`CacheFate`].
    pub fn rows(&self) -> impl Iterator<Item = (&CacheFate<C>, &Sum)> {
        self.rows.iter()
    }

    /// Number of calls added.
    pub fn calls(&self) -> u64 {
        self.rows.values().map(|sum| sum.calls).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TTL: u64 = 300_000;
    const RATIOS: Ratios = Ratios { write_permille: 1_250, read_permille: 100 };

    #[test]
    fn fates_table() {
        use Change::{ByClient, ByUs, First, Grew};
        let minute = Some(60_000);
        let hour = Some(3_600_000);
        let table = [
            // change, before, idle, input and cached, fate, missed, why
            (First, 0, None, Some((10_000, 0)), CacheFate::First, 0, "nothing was there"),
            (
                First,
                0,
                None,
                Some((10_000, 9_000)),
                CacheFate::First,
                0,
                "instructions that other lanes have too",
            ),
            (Grew, 10_000, minute, Some((11_000, 10_000)), CacheFate::Hit, 0, "as it should be"),
            (Grew, 10_000, minute, Some((11_000, 9_728)), CacheFate::Hit, 272, "blocks of 128 tokens"),
            (
                Grew,
                10_000,
                minute,
                Some((11_000, 7_999)),
                CacheFate::Unknown,
                2_001,
                "less, and nobody knows why",
            ),
            (
                Grew,
                10_000,
                minute,
                Some((11_000, 0)),
                CacheFate::Unknown,
                10_000,
                "a provider without a cache",
            ),
            (Grew, 10_000, hour, Some((11_000, 0)), CacheFate::Cold, 10_000, "a person was away"),
            (Grew, 10_000, hour, Some((11_000, 10_000)), CacheFate::Hit, 0, "kept longer than promised"),
            (Grew, 10_000, Some(TTL), Some((11_000, 0)), CacheFate::Unknown, 10_000, "at its last moment"),
            (Grew, 10_000, None, Some((11_000, 0)), CacheFate::Unknown, 10_000, "no time is known"),
            (ByUs(7), 50_000, minute, Some((20_000, 5_000)), CacheFate::Ours(7), 15_000, "a break"),
            (ByUs(7), 50_000, minute, Some((50_500, 48_000)), CacheFate::Hit, 2_000, "a break near the end"),
            (ByUs(7), 50_000, hour, Some((20_000, 0)), CacheFate::Cold, 20_000, "a break that cost nothing"),
            (
                ByClient,
                50_000,
                minute,
                Some((20_000, 5_000)),
                CacheFate::Client,
                15_000,
                "its own compaction",
            ),
            (ByClient, 50_000, hour, Some((20_000, 0)), CacheFate::Cold, 20_000, "and cold"),
            (Grew, 10_000, minute, None, CacheFate::Unknown, 0, "the provider did not count"),
            (Grew, 0, minute, Some((11_000, 0)), CacheFate::First, 0, "the one before was not counted"),
            (Grew, 10_000, minute, Some((0, 0)), CacheFate::Hit, 0, "an odd count: nothing was missed"),
        ];
        for (change, before, idle_ms, served, want, missed, why) in table {
            let known = Known { change, before, idle_ms, ttl_ms: TTL };
            let served = served.map(|(input, cached)| Served { input, cached });
            assert_eq!(fate(&known, served), (want, missed), "{why}");
        }
    }

    #[test]
    fn a_ledger_sums_by_cause() {
        let mut ledger = CacheLedger::default();
        let known = |change| Known { change, before: 10_000, idle_ms: Some(1), ttl_ms: TTL };
        let served = |input, cached| Some(Served { input, cached });
        ledger.add(&known(Change::Grew), served(11_000, 10_000), RATIOS);
        ledger.add(&known(Change::ByUs("compaction")), served(4_000, 0), RATIOS);
        ledger.add(&known(Change::ByUs("compaction")), served(4_000, 0), RATIOS);
        ledger.add(&known(Change::ByUs("pins")), served(20_000, 2_000), RATIOS);
        let rows: Vec<_> =
            ledger.rows().map(|(fate, sum)| (*fate, sum.calls, sum.missed, sum.lost)).collect();
        let want = [
            (CacheFate::Hit, 1, 0, 0),
            (CacheFate::Ours("compaction"), 2, 8_000, 9_200),
            (CacheFate::Ours("pins"), 1, 8_000, 9_200),
        ];
        assert_eq!(rows, want);
        assert_eq!((ledger.input, ledger.cached), (39_000, 12_000));
        assert_eq!(ledger.cost, 27_000 * 1_250 / 1_000 + 12_000 / 10);
        let mut twice = ledger.clone();
        twice.join(&ledger);
        assert_eq!((twice.calls(), twice.cost), (8, 2 * ledger.cost));
    }

    proptest! {
        /// Whatever a provider counts, a call never misses more than the previous prompt held, and every call is in one
        /// row.
        #[test]
        fn what_is_missed_was_there(
            before in any::<u64>(), idle in any::<Option<u64>>(), input in any::<u64>(), cached in any::<u64>(),
            change in prop_oneof![Just(Change::First), Just(Change::Grew), Just(Change::ByClient), Just(Change::ByUs(1))],
        ) {
            let known = Known { change, before, idle_ms: idle, ttl_ms: TTL };
            let (_, missed) = fate(&known, Some(Served { input, cached }));
            prop_assert!(missed <= before.min(input));
            let mut ledger = CacheLedger::default();
            for _ in 0..3 {
                ledger.add(&known, Some(Served { input, cached }), RATIOS);
            }
            prop_assert_eq!(ledger.calls(), 3);
        }
    }
}
