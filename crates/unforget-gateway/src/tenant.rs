//! Tenants: the users of one gateway, whose conversations are kept apart.

use std::sync::Arc;

/// The tenant that owns the daemon: it sees all conversations, and it alone may act on all of them.
pub const OWNER: &str = "default";

/// The tenant of a request, set by the check of tokens; [`OWNER`] without such a check.
#[derive(Clone, Debug)]
pub struct Tenant(pub Arc<str>);
