//! Entries that people put back, for hosts.

use unforget_engine::NewRaised;

use super::protocol::{Failure, LowerParams, RaiseParams, RaisedAnswer};
use super::server::{Running, Server};
use super::spelling::spelled;
use super::verbs::{Answer, answer, conversation_key, params};
use crate::json::RaisedSpansJson;

/// Author of a decision whose host names none.
const HOST: &str = "host";

/// Puts entries back.
pub(super) fn raise(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: RaiseParams = params(call)?;
    let lane = server.lane(call)?;
    let (key, form) = (&lane.key, lane.form.format());
    let engine = server.host.engine();
    let stored = engine.store().find(&conversation_key(lane.name))?;
    let stored = stored.ok_or_else(|| Failure::params("nothing is stored of this lane yet"))?;
    let (first, last) = engine.span_of(stored.id, &wanted.entries)?;
    let author = wanted.author.as_deref().unwrap_or(HOST);
    answer(&RaisedAnswer { raised: server.host.raise(key, form, &NewRaised { first, last, author })? })
}

/// Takes entries away again.
pub(super) fn lower(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: LowerParams = params(call)?;
    let lane = server.lane(call)?;
    server.host.lower(&lane.key, lane.form.format(), wanted.raised)?;
    answer(&RaisedAnswer { raised: wanted.raised })
}

/// Lists what people put back.
pub(super) fn raised(server: &Server, call: &Running<'_>) -> Answer {
    let lane = server.lane(call)?;
    let rows = server.host.raised(&lane.key, lane.form.format())?;
    spelled(&RaisedSpansJson::new(&conversation_key(lane.name).0, &rows))
}
