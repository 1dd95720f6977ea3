//! Who follows whom: parents by seq, lanes by number.

use std::collections::HashMap;

use unforget_core::digest::Digest;
use unforget_core::entry::{Entry, HostParent, Origin};
use unforget_core::id::{Seq, Thread};

/// Turns the host's names into ours, in transcript order. Records that are stored already pass through it
/// too, so that what comes later finds them; the result depends on the transcript only.
///
/// Memory: 16 bytes per record with a host id.
#[derive(Default)]
pub(super) struct Lineage {
    /// Seq of the latest record with a host id, by digest of the id.
    by_host_id: HashMap<i64, Seq>,
    threads: HashMap<i64, Thread>,
    /// Per lane, the newest entry that a model may see.
    newest: Vec<Option<Seq>>,
}

/// Where a record stands.
pub(crate) struct Standing {
    /// Its lane; numbered by first appearance, the main lane is 0.
    pub(crate) thread: Thread,
    /// The entry that it follows.
    pub(crate) parent: Option<Seq>,
    /// It names a parent that is not in the transcript before it. It then follows the newest of its lane.
    pub(crate) is_orphan: bool,
}

impl Lineage {
    /// Places the next record.
    pub(super) fn place(&mut self, entry: &Entry, seq: Seq) -> Standing {
        let thread = self.thread(entry.thread.as_deref());
        let lane = thread.0 as usize;
        if self.newest.len() <= lane {
            self.newest.resize(lane + 1, None);
        }
        let newest = self.newest.get(lane).copied().flatten();
        let (parent, is_orphan) = match &entry.parent {
            HostParent::Previous => (newest, false),
            HostParent::Root => (None, false),
            HostParent::Id(id) => match self.by_host_id.get(&short(id)) {
                Some(seq) => (Some(*seq), false),
                None => (newest, true),
            },
        };
        if let Some(id) = &entry.host_id {
            self.by_host_id.insert(short(id), seq);
        }
        // A summary of the host stands on the path too, where it came in.
        if (entry.origin.is_visible() || entry.origin == Origin::HostSummary)
            && let Some(newest) = self.newest.get_mut(lane)
        {
            *newest = Some(seq);
        }
        Standing { thread, parent, is_orphan }
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
