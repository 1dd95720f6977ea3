//! The index of conversations that grow by live calls, kept up to date in the background.

use std::fmt;
use std::time::Duration;

use unforget_core::id::{ConversationId, ConversationKey, Seq};
use unforget_store::read_all;

use super::UNINDEXED_MAX;
use crate::Engine;
use crate::background_thread::BackgroundThread;
use crate::error::EngineError;

/// The work of looking for entries that an earlier process left without an index, which one process on a store does, and for
/// how long it has the work.
const WORK: &str = "index";
const WORK_TIME: Duration = Duration::from_mins(2);

/// Events of the background work.
#[derive(Debug)]
pub enum IndexNews<'a> {
    /// The index of a conversation was looked after.
    Kept {
        /// The conversation.
        conversation: &'a ConversationKey,
    },
    /// A conversation could not be indexed; searches read its new entries each time. It is tried again when it has grown by
    /// [`UNINDEXED_MAX`] entries, and by the next process.
    Failed {
        /// The conversation.
        conversation: ConversationId,
        /// The error.
        error: &'a EngineError,
    },
    /// The list of conversations cannot be read. Those that grow are indexed all the same.
    Unlisted(&'a EngineError),
}

impl fmt::Display for IndexNews<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept { conversation } => write!(f, "the index of {conversation} is up to date"),
            Self::Failed { conversation: ConversationId(id), error } => {
                write!(
                    f,
                    "index of conversation number {id}: {error}; searches read its new entries each time"
                )
            }
            Self::Unlisted(error) => write!(f, "looking for conversations without an index: {error}"),
        }
    }
}

impl Engine {
    /// Notes that a conversation grew from one number of entries to another one. Its index is due once per
    /// [`UNINDEXED_MAX`] entries, so that its cost is O(new entries) over all calls.
    ///
    /// Cost: O(1); no read of the store.
    pub(crate) fn note_grown(&self, conversation: ConversationId, Seq(from): Seq, Seq(to): Seq) {
        if self.is_writer() && from / UNINDEXED_MAX < to / UNINDEXED_MAX {
            self.grown.put(conversation, 1);
        }
    }

    /// Brings the index of one conversation up to date that has grown. Returns false if none has.
    ///
    /// * `told` - called with the outcome.
    ///
    /// Cost: O(new entries).
    pub fn index_grown(&self, told: &dyn Fn(IndexNews<'_>)) -> bool {
        let Some((conversation, least)) = self.grown.take() else { return false };
        let key = self
            .index_beside(conversation, least)
            .and_then(|()| Ok(self.store().conversation(conversation)?.key));
        match &key {
            Ok(key) => told(IndexNews::Kept { conversation: key }),
            Err(error) => told(IndexNews::Failed { conversation, error }),
        }
        true
    }

    /// Notes all conversations that are long enough for a segment: an earlier process may have left some without.
    fn note_all_grown(&self) -> Result<(), EngineError> {
        let is_ours = self.peers().map_or(Ok(true), |peers| peers.hold(WORK, WORK_TIME))?;
        if is_ours {
            let all = read_all(|page| self.store().conversations(page))?;
            let long = all.iter().filter(|one| one.entries >= UNINDEXED_MAX);
            long.for_each(|one| self.grown.put(one.id, UNINDEXED_MAX));
        }
        Ok(())
    }
}

/// Indexes the entries of live conversations until dropped.
pub struct IndexUpkeep {
    _thread: BackgroundThread,
}

impl IndexUpkeep {
    /// Starts the thread. It begins with what earlier processes left without an index.
    ///
    /// * `every` - interval between two looks for grown conversations. A look without work reads nothing.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(
        engine: Engine,
        every: Duration,
        told: impl Fn(IndexNews<'_>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut is_begun = false;
        let step = move |_: &dyn Fn() -> bool| {
            if !std::mem::replace(&mut is_begun, true)
                && let Err(error) = engine.note_all_grown()
            {
                told(IndexNews::Unlisted(&error));
            }
            engine.index_grown(&told)
        };
        Ok(Self { _thread: BackgroundThread::start("unforget-index", every, step)? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

    use std::cell::Cell;
    use std::sync::mpsc;

    use unforget_core::id::Timestamp;
    use unforget_wire::Format;

    use super::*;
    use crate::host::{Delivered, DeliveredAnswer, Host, LaneKey, Page};
    use crate::index::{gaps, heads};

    fn say(host: &Host, count: u64) {
        let messages =
            (0..count).map(|n| Delivered::new(format!(r#"{{"role":"user","content":"word{n}"}}"#)));
        let page = Page { messages: messages.collect(), ..Page::default() };
        host.catch_up(&LaneKey("main".to_owned()), Format::OpenAiChat, page).unwrap();
    }

    fn unindexed(engine: &Engine) -> u64 {
        let one = read_all(|page| engine.store().conversations(page)).unwrap()[0].clone();
        let heads = heads(engine.store(), one.id).unwrap();
        gaps(&heads, one.entries).iter().map(|gap| gap.end - gap.start).sum()
    }

    /// Works on all that waits; the number of conversations.
    fn work(engine: &Engine) -> u64 {
        let (count, told) =
            (Cell::new(0), |news: IndexNews<'_>| assert!(matches!(news, IndexNews::Kept { .. }), "{news}"));
        while engine.index_grown(&told) {
            count.set(count.get() + 1);
        }
        count.get()
    }

    #[test]
    fn f084_a_lane_is_indexed_behind_its_calls_and_at_most_once_per_segment() {
        let engine = Engine::in_memory();
        let host = Host::new(engine.clone(), || Timestamp(7));
        say(&host, 600);
        assert!(unindexed(&engine) > 600, "no call indexes");
        assert_eq!((work(&engine), unindexed(&engine)), (1, 0));
        let mut looks = 0;
        for turn in 0..300 {
            let messages = vec![format!(r#"{{"role":"assistant","content":"answer {turn}"}}"#).into_bytes()];
            let answered = DeliveredAnswer { messages, ..DeliveredAnswer::default() };
            host.take_answer(&LaneKey("main".to_owned()), Format::OpenAiChat, &answered).unwrap();
            looks += work(&engine);
            assert!(unindexed(&engine) < UNINDEXED_MAX);
        }
        assert!((1..=2).contains(&looks), "{looks} looks at the index in 300 turns");
    }

    #[test]
    fn f084_what_an_earlier_process_left_is_indexed_at_the_start() {
        let engine = Engine::in_memory();
        say(&Host::new(engine.clone(), || Timestamp(7)), 600);
        let next = Engine::on(std::sync::Arc::clone(&engine.store));
        assert_eq!(work(&next), 0, "nothing grew in this process");
        let (told, news) = mpsc::channel();
        let upkeep = IndexUpkeep::start(next, Duration::from_hours(1), move |news| {
            told.send(news.to_string()).unwrap();
        });
        assert_eq!(
            news.recv_timeout(Duration::from_mins(1)).unwrap(),
            "the index of journal:main is up to date"
        );
        drop(upkeep.unwrap());
        assert_eq!(unindexed(&engine), 0);
    }
}
