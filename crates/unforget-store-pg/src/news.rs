//! News between processes: who changed a conversation says so to the others, in messages beside the commits. A `NOTIFY` inside
//! a commit would let all commits of the server wait for each other.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use unforget_core::id::ConversationId;
use unforget_store::{Change, PeerCallback, PeerNews};

use crate::conn::Hearing;
use crate::peer_id::PeerId;
use crate::place::PgPlace;

/// The channel of the database.
pub(crate) const CHANNEL: &str = "unforget_news";

/// Most bytes of a message; the server takes 7,999.
const TEXT_MAX: usize = 7_000;

/// Pause before another attempt to connect.
const PAUSE: Duration = Duration::from_secs(1);

/// The messages that tell of changes: who says so, the tenant, then each change as `42:entries`.
pub(crate) fn texts(peer: PeerId, tenant: i32, changes: &BTreeSet<(ConversationId, Change)>) -> Vec<String> {
    let head = || format!("{} {tenant}", name(peer));
    let mut texts: Vec<String> = Vec::new();
    for (id, change) in changes {
        if texts.last().is_none_or(|text| text.len() > TEXT_MAX) {
            texts.push(head());
        }
        if let Some(text) = texts.last_mut() {
            // A string takes everything.
            write!(text, " {}:{}", id.0, change.name()).ok();
        }
    }
    texts
}

/// The news of a message; none if it is our own, of another tenant, or not of this form.
fn read(text: &str, peer: PeerId, tenant: i32) -> Vec<PeerNews> {
    let mut words = text.split(' ');
    let is_own = words.next().is_none_or(|who| who == name(peer));
    if is_own || words.next().and_then(|tenant| tenant.parse().ok()) != Some(tenant) {
        return Vec::new();
    }
    let news = words.filter_map(|word| {
        let (id, change) = word.split_once(':')?;
        Some(PeerNews::Changed(ConversationId(id.parse().ok()?), Change::by_name(change)?))
    });
    news.collect()
}

/// Hears the news of other processes for ever. After a lost connection it says that news may be missing.
pub(crate) async fn listen(place: PgPlace, peer: PeerId, tenant: i32, told: PeerCallback) {
    loop {
        // A server that is gone comes back.
        if let Ok(mut hearing) = Hearing::open(&place, CHANNEL).await {
            told(PeerNews::Missed);
            while let Some(text) = hearing.next().await {
                for news in read(&text, peer, tenant) {
                    told(news);
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A process in messages.
fn name(peer: PeerId) -> String {
    peer.0.iter().fold(String::new(), |mut name, byte| {
        _ = write!(name, "{byte:02x}");
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_travel_in_messages_of_bounded_length() {
        let (us, them) = (PeerId([1; 16]), PeerId([2; 16]));
        let changes: BTreeSet<_> = (0..3_000)
            .map(|id| (ConversationId(id), Change::Entries))
            .chain([(ConversationId(7), Change::Purged)])
            .collect();
        let texts = texts(us, 1, &changes);
        assert!(texts.len() > 1 && texts.iter().all(|text| text.len() < 7_999));
        let heard = |peer, tenant| -> BTreeSet<_> {
            let news = texts.iter().flat_map(|text| read(text, peer, tenant));
            news.filter_map(|news| match news {
                PeerNews::Changed(id, change) => Some((id, change)),
                PeerNews::Missed => None,
            })
            .collect()
        };
        assert_eq!(heard(them, 1), changes);
        assert!(heard(us, 1).is_empty(), "our own");
        assert!(heard(them, 2).is_empty(), "of another tenant");
        for text in ["", "x", "x y 1:entries", "x 1 a:entries 1:nothing 1 :"] {
            assert!(read(text, us, 1).is_empty(), "{text:?}");
        }
    }
}
