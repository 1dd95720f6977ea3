//! The token of the page's forms.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use unforget_core::digest::Digest;

/// The secret of the page's forms.
pub(crate) struct FormSeal(Digest);

impl FormSeal {
    /// * `shared` - a secret of all processes that serve the page; `None` for a single one.
    pub(crate) fn of(shared: Option<Digest>) -> Self {
        let own = || format!("{:?}", [0; 4].map(|_: u8| RandomState::new().hash_one(0_u8)));
        let secret = shared.map_or_else(own, |shared| shared.hex());
        Self(Digest::of(format!("forms {secret}").as_bytes()))
    }
}

impl FormSeal {
    /// The token that each form carries.
    pub(crate) fn token(&self) -> String {
        self.0.hex()
    }

    /// Whether a form carries it.
    pub(crate) fn is(&self, sent: &str) -> bool {
        // Digests of both: how long the comparison takes tells nothing of the token.
        Digest::of(self.token().as_bytes()) == Digest::of(sent.as_bytes())
    }
}
