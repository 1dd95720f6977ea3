//! The order of records: parents by seq, lanes by number.

use std::collections::HashMap;

use unforget_core::digest::Digest;
use unforget_core::entry::{Entry, HostParent, Origin};
use unforget_core::id::{Seq, Thread};

/// Translates the host's names into ours, in transcript order. Stored records pass through here too, so that later
/// records find them; the result depends on the transcript only.
///
/// Memory: 16 bytes per record with a host id.
#[derive(Default)]
pub(super) struct Lineage {
    /// Seq of the latest record with a host id, by digest of the id.
    by_host_id: HashMap<i64, Seq>,
    threads: HashMap<i64, Thread>,
    /// The newest entry of each lane that a model may see.
    newest: Vec<Option<Seq>>,
}

/// Position of a record.
pub(super) struct Standing {
    /// Its lane, numbered by first appearance; 0 is the main lane.
    pub(super) thread: Thread,
    /// The preceding entry.
    pub(super) parent: Option<Seq>,
}

impl Lineage {
    /// Places the next record. A record whose named parent does not occur earlier in the transcript follows the newest
    /// entry of its lane.
    pub(super) fn place(&mut self, entry: &Entry, seq: Seq) -> Standing {
        let thread = self.thread(entry.thread.as_deref());
        let lane = thread.0 as usize;
        if self.newest.len() <= lane {
            self.newest.resize(lane + 1, None);
        }
        let newest = self.newest.get(lane).copied().flatten();
        let parent = match &entry.parent {
            HostParent::Previous => newest,
            HostParent::Root => None,
            HostParent::Id(id) => self.by_host_id.get(&short(id)).copied().or(newest),
        };
        if let Some(id) = &entry.host_id {
            self.by_host_id.insert(short(id), seq);
        }
        // A summary by the host stands on the path too, at the place of its arrival.
        if (entry.origin.is_visible() || entry.origin == Origin::HostSummary)
            && let Some(newest) = self.newest.get_mut(lane)
        {
            *newest = Some(seq);
        }
        Standing { thread, parent }
    }

    fn thread(&mut self, name: Option<&str>) -> Thread {
        let Some(name) = name else { return Thread(0) };
        let next = Thread(self.threads.len() as u64 + 1);
        *self.threads.entry(short(name)).or_insert(next)
    }
}

fn short(name: &str) -> i64 {
    Digest::of(name.as_bytes()).short()
}
