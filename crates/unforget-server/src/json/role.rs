//! The speaker of an entry, in questions and answers.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unforget_core::entry::Role;
use utoipa::ToSchema;

/// The speaker of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoleJson {
    /// Instructions.
    System,
    /// A person, or the host in their place.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// Nobody: a bookkeeping record.
    None,
}

impl From<Role> for RoleJson {
    fn from(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
            Role::None => Self::None,
        }
    }
}

impl From<RoleJson> for Role {
    fn from(role: RoleJson) -> Self {
        match role {
            RoleJson::System => Self::System,
            RoleJson::User => Self::User,
            RoleJson::Assistant => Self::Assistant,
            RoleJson::Tool => Self::Tool,
            RoleJson::None => Self::None,
        }
    }
}

impl fmt::Display for RoleJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Role::from(*self).name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_written_by_its_name() {
        for role in [Role::System, Role::User, Role::Assistant, Role::Tool, Role::None] {
            let shown = RoleJson::from(role);
            assert_eq!(serde_json::json!(shown), role.name());
            assert_eq!((shown.to_string().as_str(), Role::from(shown)), (role.name(), role));
        }
    }
}
