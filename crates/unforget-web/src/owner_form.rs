//! The form that the owner's buttons of a view send.

use unforget_core::id::ConversationKey;

use crate::visit::address;

/// Its name.
pub(crate) const FORM: &str = "decide";

/// Where decisions about a conversation go.
pub(crate) fn to(key: &str) -> String {
    format!("{}/decisions", address(&ConversationKey(key.to_owned())))
}
