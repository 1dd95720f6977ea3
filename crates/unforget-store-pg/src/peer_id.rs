//! The name of a process among those on one database.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

/// A process among those on the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerId(pub(crate) [u8; 16]);

impl Default for PeerId {
    /// A new one.
    fn default() -> Self {
        let mut id = [0; 16];
        for part in id.chunks_exact_mut(8) {
            part.copy_from_slice(&RandomState::new().hash_one(std::process::id()).to_le_bytes());
        }
        Self(id)
    }
}
