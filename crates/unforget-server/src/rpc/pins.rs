//! Pins for hosts.

use unforget_core::pin::PinId;
use unforget_engine::PinText;

use super::protocol::{Failure, PinAnswer, PinParams, PinsParams, UnpinParams};
use super::server::{Running, Server};
use super::spelling::spelled;
use super::verbs::{Answer, answer, conversation_key, params};
use crate::json::{PinJson, PinsJson};

/// Pins words.
pub(super) fn pin(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: PinParams = params(call)?;
    let lane = server.lane(call)?;
    let (key, form) = (&lane.key, lane.form.format());
    server.host.open(key, form)?;
    let source = match &wanted.entry {
        Some(name) => {
            let stored = server.host.engine().store().find(&conversation_key(lane.name))?;
            let stored = stored.ok_or_else(|| Failure::params("nothing is stored of this lane yet"))?;
            Some(server.host.engine().words_of(stored.id, name)?)
        }
        None => None,
    };
    let (seq, said) = source.map_or((None, None), |(seq, said)| (Some(seq), Some(said)));
    let Some(text) = wanted.text.or(said) else {
        return Err(Failure::params("the method needs `text` or `entry`"));
    };
    let pin = match wanted.supersedes {
        Some(old) => {
            server.host.supersede_pin(key, form, PinId(old), PinText { text: &text, source: seq })?
        }
        None => server.host.pin(key, form, &text, seq)?,
    };
    answer(&PinAnswer { pin: pin.0 })
}

/// Takes a pin back.
pub(super) fn unpin(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: UnpinParams = params(call)?;
    let lane = server.lane(call)?;
    server.host.unpin(&lane.key, lane.form.format(), PinId(wanted.pin))?;
    answer(&PinAnswer { pin: wanted.pin })
}

/// Lists pins.
pub(super) fn pins(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: PinsParams = params(call)?;
    let lane = server.lane(call)?;
    let (key, form) = (&lane.key, lane.form.format());
    let (rows, files) = (server.host.pins(key, form)?, server.host.pin_files(key, form)?);
    let proposals = if wanted.proposals { server.host.proposed_pins(key, form)? } else { Vec::new() };
    spelled(&PinsJson {
        conversation: conversation_key(lane.name).0,
        pins: rows.iter().map(|row| PinJson::new(row, &files)).collect(),
        proposals: proposals.iter().map(Into::into).collect(),
    })
}
