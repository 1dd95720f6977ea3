//! The fate of providers' caches, by cause: per lane, and in total.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use unforget_core::cache::{CacheFate, CacheLedger, Change, Known, Served};
use unforget_core::digest::Digest;
use unforget_core::tokens::Tokens;
use unforget_engine::host::{Array, LaneKey};
use unforget_engine::prompt::{Broken, Cause};
use unforget_wire::Dialect;
use unforget_wire::exchange::{Call, Usage};

use super::figures;

/// Most lanes remembered.
const LANES: usize = 1_024;

/// Most counts remembered per lane.
const COUNTS: usize = 16;

/// The cause of a miss in the first call with our own prompt: the previous call was sent unchanged.
const FITTED: &str = "fitted";

/// The record of providers' caches, per lane and in total. In memory only.
#[derive(Default)]
pub struct CacheRecords {
    lanes: Mutex<HashMap<LaneKey, LaneState>>,
    all: Mutex<CacheLedger<&'static str>>,
}

#[derive(Default)]
struct LaneState {
    last: Option<LastCall>,
    kept: LaneRecord,
    used: Option<Instant>,
}

/// The record of a lane.
#[derive(Clone, Debug, Default)]
pub struct LaneRecord {
    /// The fate of the cache in its calls.
    pub ledger: CacheLedger<&'static str>,
    /// Our counts and the provider's for its newest calls, oldest first.
    pub counts: VecDeque<CallCount>,
    /// Bytes of the client's standing context that the newest call has no room for, by kind.
    pub standing_left_out: BTreeMap<&'static str, u64>,
}

/// A call's size by our ruler and by the provider's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallCount {
    /// Our count.
    pub ours: Tokens,
    /// Most tokens that it might weigh, by which it was admitted: by earlier counts as far as there are any.
    pub bound: u64,
    /// The provider's count.
    pub input: u64,
    /// Cached part of the provider's count.
    pub cached: u64,
    /// Budget of the input.
    pub budget: u64,
}

/// The content before the messages, and the model: if either changes, no cache applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FixedContent {
    fixed: Digest,
    model: Option<String>,
}

impl FixedContent {
    pub(super) fn of(call: &Call<'_>) -> Self {
        let mut digests = Vec::new();
        call.fixed_text(&mut |text| digests.extend(Digest::of(text.as_bytes()).0));
        Self { fixed: Digest::of(&digests), model: call.model.clone() }
    }
}

/// An answered call, as far as the next one is compared with it.
#[derive(Clone, Debug)]
pub(super) struct LastCall {
    before: FixedContent,
    /// Messages that were sent unchanged: their number, and the digest of their bytes; `None` for our own prompt.
    of: Option<(usize, Digest)>,
    /// The provider's count.
    input: u64,
    at: Instant,
    /// Our count.
    pub(super) tokens: Tokens,
    /// Name of its rung of admission; empty for a call sent unchanged.
    pub(super) rung: &'static str,
}

/// The previous call, from the point of view of the next one.
#[derive(Clone, Debug)]
pub(super) struct PreviousCall {
    pub(super) last: LastCall,
    idle_ms: u64,
    /// Whether the new array begins with its messages and they were sent unchanged.
    grew: bool,
}

/// An answered call.
pub(super) struct AnsweredCall<'a> {
    pub(super) dialect: Dialect,
    pub(super) was: Option<&'a PreviousCall>,
    pub(super) before: &'a FixedContent,
    /// As [`LastCall::of`].
    pub(super) of: Option<(usize, Digest)>,
    pub(super) broken: Option<Broken>,
    pub(super) rung: &'static str,
    pub(super) ours: Tokens,
    pub(super) bound: u64,
    pub(super) standing_left_out: &'a BTreeMap<&'static str, u64>,
    pub(super) budget: u64,
    pub(super) usage: Option<Usage>,
}

impl AnsweredCall<'_> {
    /// How the previous prompt relates to this one.
    fn change(&self) -> Change<&'static str> {
        let Some(PreviousCall { last, grew, .. }) = self.was else { return Change::First };
        if last.before != *self.before {
            return Change::ByClient;
        }
        match (last.of, self.of, self.broken) {
            (Some(_), Some(_), _) if *grew => Change::Grew,
            // After a prompt of ours, an unchanged call means that the client sends less than before.
            (_, Some(_), _) => Change::ByClient,
            (Some(_), None, _) => Change::ByUs(FITTED),
            (None, None, None) => Change::Grew,
            (None, None, Some(broken)) => match broken.cause {
                Cause::Rewind | Cause::LateEntry => Change::ByClient,
                cause => Change::ByUs(cause.name()),
            },
        }
    }
}

impl CacheRecords {
    /// The previous call of a lane.
    pub(super) fn was(&self, lane: &LaneKey, array: &Array) -> Option<PreviousCall> {
        let last = self.lanes().get(lane)?.last.clone()?;
        let idle_ms = u64::try_from(last.at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let grew = last.of.is_some_and(|(count, digest)| array.beginning(count) == Some(digest));
        Some(PreviousCall { last, idle_ms, grew })
    }

    /// Takes an answered call.
    pub(super) fn take(&self, lane: &LaneKey, done: &AnsweredCall<'_>) {
        let known = Known {
            change: done.change(),
            before: done.was.map_or(0, |was| was.last.input),
            idle_ms: done.was.map(|was| was.idle_ms),
            ttl_ms: done.dialect.cache_ttl_ms(),
        };
        let counted = done.usage.filter(|usage| usage.input > 0);
        let served = counted.map(|usage| Served { input: usage.input, cached: usage.cached });
        let ratios = done.dialect.cache_ratios();
        let mut one = CacheLedger::default();
        let fate = one.add(&known, served, ratios);
        let missed = one.rows().map(|(_, sum)| sum.missed).sum();
        figures::cache(fate.name(), if let CacheFate::Ours(cause) = fate { cause } else { "" }, missed);
        self.all.lock().unwrap_or_else(PoisonError::into_inner).join(&one);
        let mut lanes = self.lanes();
        if lanes.len() >= LANES && !lanes.contains_key(lane) {
            let oldest = lanes.iter().min_by_key(|(_, lane)| lane.used).map(|(key, _)| key.clone());
            oldest.map(|oldest| lanes.remove(&oldest));
        }
        let known = lanes.entry(lane.clone()).or_default();
        let now = Instant::now();
        known.used = Some(now);
        known.kept.ledger.join(&one);
        known.kept.standing_left_out.clone_from(done.standing_left_out);
        known.last = Some(LastCall {
            before: done.before.clone(),
            of: done.of,
            input: counted.map_or(0, |usage| usage.input),
            at: now,
            tokens: done.ours,
            rung: done.rung,
        });
        if let Some(usage) = counted {
            let Usage { input, cached, .. } = usage;
            known.kept.counts.push_back(CallCount {
                ours: done.ours,
                bound: done.bound,
                input,
                cached,
                budget: done.budget,
            });
            let more = known.kept.counts.len().saturating_sub(COUNTS);
            known.kept.counts.drain(..more);
        }
    }

    /// The record of a lane since the start of the process.
    pub fn of(&self, lane: &LaneKey) -> Option<LaneRecord> {
        self.lanes().get(lane).map(|lane| lane.kept.clone())
    }

    /// The sums over all lanes since the start of the process.
    pub fn all(&self) -> CacheLedger<&'static str> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<LaneKey, LaneState>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use unforget_engine::prompt::Region;

    use super::*;

    #[test]
    fn changes_table() {
        let before =
            |model: &str| FixedContent { fixed: Digest::of(b"tools"), model: Some(model.to_owned()) };
        let broken = |cause| Some(Broken { cause, region: Region::Summaries, rebilled: 0, hit: 0 });
        let as_sent = Some((1, Digest::of(b"1")));
        let table = [
            // the previous call: unchanged, and whether this one begins with it; this call: unchanged, its break
            (None, as_sent, None, Change::First, "nothing is known"),
            (Some((as_sent, true)), as_sent, None, Change::Grew, "one more turn"),
            (Some((as_sent, false)), as_sent, None, Change::ByClient, "its own compaction"),
            (
                Some((as_sent, true)),
                None,
                broken(Cause::First),
                Change::ByUs("fitted"),
                "it does not fit any more",
            ),
            (Some((None, false)), None, None, Change::Grew, "the prompt grew"),
            (Some((None, false)), None, broken(Cause::Compaction), Change::ByUs("compaction"), "a break"),
            (Some((None, false)), None, broken(Cause::Pins), Change::ByUs("pins"), "another pin"),
            (Some((None, false)), None, broken(Cause::Rewind), Change::ByClient, "it went back"),
            (Some((None, false)), as_sent, None, Change::ByClient, "it sends less than before"),
        ];
        for (was, of, broken, want, why) in table {
            for (model, want) in [("a", want), ("b", if was.is_some() { Change::ByClient } else { want })] {
                let was = was.map(|(of, grew)| PreviousCall {
                    last: LastCall {
                        before: before("a"),
                        of,
                        input: 1,
                        at: Instant::now(),
                        tokens: Tokens::default(),
                        rung: "",
                    },
                    idle_ms: 0,
                    grew,
                });
                let before = before(model);
                let done = AnsweredCall {
                    dialect: Dialect::Anthropic,
                    was: was.as_ref(),
                    before: &before,
                    of,
                    broken,
                    rung: "",
                    ours: Tokens::default(),
                    bound: 0,
                    standing_left_out: &BTreeMap::new(),
                    budget: 0,
                    usage: None,
                };
                assert_eq!(done.change(), want, "{why}, by model {model}");
            }
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let caches = CacheRecords::default();
        let before = FixedContent { fixed: Digest::of(b""), model: None };
        let usage = Usage { input: 10, cached: 5, cache_written: 0, output: 1 };
        let done = AnsweredCall {
            dialect: Dialect::Anthropic,
            was: None,
            before: &before,
            of: None,
            broken: None,
            rung: "assembled",
            ours: Tokens::exact(9),
            bound: 12,
            standing_left_out: &BTreeMap::new(),
            budget: 100,
            usage: Some(usage),
        };
        for number in 0..LANES + 10 {
            caches.take(&LaneKey(number.to_string()), &done);
        }
        assert_eq!(caches.lanes().len(), LANES);
        assert!(caches.of(&LaneKey("0".into())).is_none(), "the one that was used least lately goes");
        let newest = LaneKey((LANES + 9).to_string());
        for _ in 0..COUNTS + 5 {
            caches.take(&newest, &done);
        }
        let kept = caches.of(&newest).map(|kept| (kept.counts.len(), kept.ledger.calls()));
        assert_eq!(kept, Some((COUNTS, COUNTS as u64 + 6)));
        assert_eq!(caches.all().calls(), (LANES + 10 + COUNTS + 5) as u64, "the sums forget nothing");
    }
}
