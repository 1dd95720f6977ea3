//! Pins for hosts.

use unforget_core::pin::PinId;
use unforget_engine::PinText;

use super::protocol::{Failure, PinFacts, PinList, PinParams, Pinned, PinsParams, UnpinParams};
use super::server::{Running, Server};
use super::verbs::{Answer, answer, conversation_key, params};

/// Pins words.
pub(super) fn pin(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: PinParams = params(call)?;
    let lane = server.lane(call)?;
    let (key, form) = (&lane.key, lane.form.format());
    server.host.open(key, form)?;
    let source = match &wanted.entry {
        Some(name) => {
            let stored = server.host.engine().store().find(&conversation_key(lane.name))?;
            let stored = stored.ok_or_else(|| Failure::params("nothing is stored of the lane"))?;
            Some(server.host.engine().words_of(stored.id, name)?)
        }
        None => None,
    };
    let (seq, said) = source.map_or((None, None), |(seq, said)| (Some(seq), Some(said)));
    let Some(text) = wanted.text.or(said) else { return Err(Failure::params("needs `text` or `entry`")) };
    let pin = match wanted.supersedes {
        Some(old) => {
            server.host.supersede_pin(key, form, PinId(old), PinText { text: &text, source: seq })?
        }
        None => server.host.pin(key, form, &text, seq)?,
    };
    answer(&Pinned { pin: pin.0 })
}

/// Takes a pin back.
pub(super) fn unpin(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: UnpinParams = params(call)?;
    let lane = server.lane(call)?;
    server.host.unpin(&lane.key, lane.form.format(), PinId(wanted.pin))?;
    answer(&Pinned { pin: wanted.pin })
}

/// Lists pins.
pub(super) fn pins(server: &Server, call: &Running<'_>) -> Answer {
    let wanted: PinsParams = params(call)?;
    let lane = server.lane(call)?;
    let (key, form) = (&lane.key, lane.form.format());
    let (rows, files) = (server.host.pins(key, form)?, server.host.pin_files(key, form)?);
    let proposals = if wanted.proposals { server.host.proposed_pins(key, form)? } else { Vec::new() };
    answer(&PinList {
        pins: rows.into_iter().map(|row| PinFacts::new(row, &files)).collect(),
        proposals: proposals.into_iter().map(Into::into).collect(),
    })
}
