//! One module for each host, with its schema.

mod crush;
mod cursor;
mod goose;
mod hermes;
mod openai_agents;
mod openclaw;
mod opencode;
mod zed;

use crate::schema::HostSchema;

/// Every host that is read.
pub(crate) const HOSTS: [&HostSchema; 8] = [
    &opencode::SCHEMA,
    &openclaw::SCHEMA,
    &crush::SCHEMA,
    &goose::SCHEMA,
    &hermes::SCHEMA,
    &cursor::SCHEMA,
    &zed::SCHEMA,
    &openai_agents::SCHEMA,
];
