//! The calls of a day, kept until something is stored.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use unforget_core::id::Timestamp;
use unforget_engine::{Engine, EngineError};
use unforget_server::price::CostSum;

/// The calls of a day.
#[derive(Clone, Default)]
pub(crate) struct DaySum {
    pub(crate) sum: CostSum,
    /// Conversations that have them.
    pub(crate) conversations: u64,
}

/// The owner's newest sum: it holds until something is stored, or a day begins.
#[derive(Default)]
pub(crate) struct DayCache(Mutex<Option<KnownDay>>);

struct KnownDay {
    mark: u64,
    begin: Timestamp,
    day: DaySum,
}

impl DayCache {
    /// The calls since the beginning of a day.
    ///
    /// * `mark` - the store's change mark; without one, the calls are read in any case.
    ///
    /// Cost: as [`Engine::calls_since`], or nothing.
    pub(crate) fn calls(
        &self,
        engine: &Engine,
        begin: Timestamp,
        mark: Option<u64>,
    ) -> Result<DaySum, EngineError> {
        let is_same = |known: &&KnownDay| Some(known.mark) == mark && known.begin == begin;
        let known = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .filter(is_same)
            .map(|known| known.day.clone());
        if let Some(day) = known {
            return Ok(day);
        }
        let (mut sum, mut keys) = (CostSum::default(), BTreeSet::new());
        engine.calls_since(begin, &mut |stored| {
            keys.insert(stored.conversation.clone());
            sum.add(&stored.call);
        })?;
        let day = DaySum { sum, conversations: keys.len() as u64 };
        if let Some(mark) = mark {
            let known = KnownDay { mark, begin, day: day.clone() };
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        }
        Ok(day)
    }
}
