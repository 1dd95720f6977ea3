//! What people said of a conversation, as records that machines exchange.

use unforget_core::digest::Digest;
use unforget_core::id::Seq;

/// A saying: an immutable record, named by the digest of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SayingRow {
    /// Its number within the conversation, from 1, in the order of arrival here. Ignored by
    /// [`put_sayings`](crate::Summaries::put_sayings).
    pub number: u64,
    /// Digest of `body`.
    pub digest: Digest,
    /// First and last entry that it is about; `None` if it is about the conversation. It goes with the last of them that is purged.
    pub span: Option<(Seq, Seq)>,
    /// Its bytes.
    pub body: Vec<u8>,
}
