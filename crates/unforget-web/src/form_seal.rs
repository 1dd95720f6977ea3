//! The token of the page's forms.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use unforget_core::digest::Digest;

/// The secret of this process's forms.
pub(crate) struct FormSeal([u64; 4]);

impl Default for FormSeal {
    fn default() -> Self {
        Self([0; 4].map(|_: u8| RandomState::new().hash_one(0_u8)))
    }
}

impl FormSeal {
    /// The token that each form carries.
    pub(crate) fn token(&self) -> String {
        Digest::of(format!("{:?}", self.0).as_bytes()).hex()
    }

    /// Whether a form carries it.
    pub(crate) fn is(&self, sent: &str) -> bool {
        // Digests of both: how long the comparison takes tells nothing of the token.
        Digest::of(self.token().as_bytes()) == Digest::of(sent.as_bytes())
    }
}
