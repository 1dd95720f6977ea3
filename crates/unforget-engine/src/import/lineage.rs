//! The order of records: parents by seq, lanes by number.

use std::collections::HashMap;

use unforget_core::digest::Digest;
use unforget_core::entry::{Entry, HostParent, Origin, Part};
use unforget_core::id::{Seq, Thread};

/// Translates the host's names into ours, in transcript order. Stored records pass through here too, so that later
/// records find them; the result depends on the transcript only.
///
/// Memory: 24 bytes per record with a host id.
#[derive(Default)]
pub(super) struct Lineage {
    /// The latest record with a host id, by digest of the id.
    by_host_id: HashMap<i64, NamedRecord>,
    threads: HashMap<i64, Thread>,
    /// The newest entry of each lane that a model may see.
    newest: Vec<Option<Seq>>,
}

/// A record with a host id.
struct NamedRecord {
    seq: Seq,
    /// Digest of what it says.
    print: i64,
}

/// Position of a record.
pub(super) struct Standing {
    /// Its lane, numbered by first appearance; 0 is the main lane.
    pub(super) thread: Thread,
    /// The preceding entry.
    pub(super) parent: Option<Seq>,
    /// Whether an earlier record has the same host id and says the same: the host wrote it again.
    pub(super) is_copy: bool,
}

impl Lineage {
    /// Places the next record. A record whose named parent does not occur earlier in the transcript follows the newest
    /// entry of its lane. A copy changes nothing: what follows it follows the record that it is a copy of.
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
            HostParent::Id(id) => self.by_host_id.get(&short(id)).map(|named| named.seq).or(newest),
        };
        if let Some(id) = entry.host_id.as_deref().map(short) {
            let print = print(entry);
            let is_copy =
                !entry.parts.is_empty() && self.by_host_id.get(&id).is_some_and(|named| named.print == print);
            if is_copy {
                return Standing { thread, parent, is_copy };
            }
            self.by_host_id.insert(id, NamedRecord { seq, print });
        }
        // A summary by the host stands on the path too, at the place of its arrival.
        if (entry.origin.is_visible() || entry.origin == Origin::HostSummary)
            && let Some(newest) = self.newest.get_mut(lane)
        {
            *newest = Some(seq);
        }
        Standing { thread, parent, is_copy: false }
    }

    fn thread(&mut self, name: Option<&str>) -> Thread {
        let Some(name) = name else { return Thread(0) };
        let next = Thread(self.threads.len() as u64 + 1);
        *self.threads.entry(short(name)).or_insert(next)
    }
}

/// Digest of what an entry says, without its place.
fn print(entry: &Entry) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(entry.role.name().as_bytes());
    entry.parts.iter().for_each(|part| feed(&mut hasher, part));
    Digest(*hasher.finalize().as_bytes()).short()
}

fn feed(hasher: &mut blake3::Hasher, part: &Part) {
    let mut put = |kind: &str, texts: &[&str]| {
        hasher.update(kind.as_bytes());
        for text in texts {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        }
    };
    match part {
        Part::Text(text) => put("text", &[text]),
        Part::Thinking { text, .. } => put("thinking", &[text]),
        Part::ToolCall(call) => put("call", &[&call.id, &call.name, &call.arguments]),
        Part::ToolResult(result) => {
            put("result", &[&result.call_id]);
            result.content.iter().for_each(|part| feed(hasher, part));
        }
        Part::Media(media) => put("media", &[&media.raw]),
        Part::Opaque { kind, raw } => put("opaque", &[kind, raw]),
    }
}

fn short(name: &str) -> i64 {
    Digest::of(name.as_bytes()).short()
}

#[cfg(test)]
mod tests {
    use unforget_wire::{Format, decode};

    use super::*;

    #[test]
    fn a_copy_has_the_same_id_and_says_the_same() {
        let record = |id: &str, parent: &str, text: &str| {
            let record = format!(
                r#"{{"type":"user","uuid":"{id}","parentUuid":"{parent}","sessionId":"s","message":{{"role":"user","content":"{text}"}}}}"#
            );
            decode(Format::ClaudeCode, record.as_bytes())
        };
        let table = [
            ("u1", "u0", "a", false, None, "the first"),
            ("u2", "u1", "b", false, Some(0), "the second"),
            ("u1", "u9", "a", true, Some(1), "the first again, at another place"),
            ("u3", "u1", "c", false, Some(1), "what follows a copy follows what was before it"),
            ("u4", "", "a", false, Some(3), "the same text under another id"),
            ("u1", "u2", "other", false, Some(4), "another text under the same id"),
        ];
        let mut lineage = Lineage::default();
        for (seq, (id, parent, text, is_copy, want, why)) in table.into_iter().enumerate() {
            let standing = lineage.place(&record(id, parent, text), Seq(seq as u64));
            assert_eq!((standing.is_copy, standing.parent), (is_copy, want.map(Seq)), "{why}");
        }
    }
}
