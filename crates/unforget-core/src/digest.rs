//! Digests and chains.
//!
//! Two chains run over every generation. The **raw chain** covers the received bytes: it proves that nothing was
//! changed or lost. The **content digest** covers an entry's meaning without transport annotations, so that it
//! recognises a message sent again in another form.

use crate::entry::{Entry, Part, Role, Status};

/// A BLAKE3 hash.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Hashes bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The first 8 bytes as a number, for indexes. Collisions are possible; compare whole digests.
    pub fn short(&self) -> i64 {
        let mut head = [0; 8];
        for (to, from) in head.iter_mut().zip(self.0) {
            *to = from;
        }
        i64::from_le_bytes(head)
    }

    /// Parses 64 hex digits.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
        let mut digest = [0; 32];
        let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
        if pairs.len() != digest.len() || !rest.is_empty() {
            return None;
        }
        for (to, [high, low]) in digest.iter_mut().zip(pairs) {
            *to = digit(high)? << 4 | digit(low)?;
        }
        Some(Self(digest))
    }

    /// Lower-case hex.
    pub fn hex(&self) -> String {
        use std::fmt::Write;
        self.0.iter().fold(String::with_capacity(64), |mut text, byte| {
            // Writing to a String cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        })
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.hex())
    }
}

/// Head of a raw chain: the hash of everything up to and including one record.
///
/// `chain(n) = H(chain(n-1) ‖ len(lead) ‖ lead ‖ body)`, so it fixes order, framing and bytes. Two transcripts with
/// equal heads are equal byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain(pub Digest);

impl Chain {
    /// The chain before the first record.
    pub fn root() -> Self {
        Self(Digest([0; 32]))
    }

    /// The chain after one more record.
    ///
    /// * `lead` - bytes between the previous record and this one.
    /// * `body` - the record itself.
    #[must_use]
    pub fn next(&self, lead: &[u8], body: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0.0);
        hasher.update(&(lead.len() as u64).to_le_bytes());
        hasher.update(lead);
        hasher.update(body);
        Self(Digest(*hasher.finalize().as_bytes()))
    }

    /// The first 8 bytes as a number. See [`Digest::short`].
    pub fn short(&self) -> i64 {
        self.0.short()
    }
}

/// Digest of an entry's content: role, status and parts in order; no ids of the host's own storage, no times, no
/// transport annotations.
///
/// Cost: O(bytes), no allocation.
pub fn content_digest(entry: &Entry) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&[role_tag(entry.role), status_tag(entry.status)]);
    for part in &entry.parts {
        hash_part(&mut hasher, part);
    }
    Digest(*hasher.finalize().as_bytes())
}

/// A role's tag in digests and names. Stored names depend on it, so it never changes.
pub const fn role_tag(role: Role) -> u8 {
    match role {
        Role::System => 1,
        Role::User => 2,
        Role::Assistant => 3,
        Role::Tool => 4,
        Role::None => 5,
    }
}

fn status_tag(status: Status) -> u8 {
    match status {
        Status::Complete => 1,
        Status::Aborted => 2,
        Status::Error => 3,
    }
}

fn hash_part(hasher: &mut blake3::Hasher, part: &Part) {
    match part {
        Part::Text(text) => field(hasher, 1, text),
        Part::Thinking { text, signature, .. } => {
            field(hasher, 2, text);
            field(hasher, 3, signature.as_deref().unwrap_or_default());
        }
        Part::ToolCall(call) => {
            field(hasher, 4, &call.id);
            field(hasher, 5, &call.name);
            field(hasher, 6, &call.arguments);
        }
        Part::ToolResult(result) => {
            field(hasher, 7, &result.call_id);
            hasher.update(&[u8::from(result.is_error)]);
            for inner in &result.content {
                hash_part(hasher, inner);
            }
            hasher.update(&[8]);
        }
        Part::Media(media) => field(hasher, 9, &media.raw),
        Part::Opaque { raw, .. } => field(hasher, 10, raw),
    }
}

/// Tag and length before the bytes make the encoding injective.
fn field(hasher: &mut blake3::Hasher, tag: u8, text: &str) {
    hasher.update(&[tag]);
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}
