//! Rules that are pinned.

use unforget_bench::Random;
use unforget_engine::host::{Assembled, Host, LaneKey};
use unforget_wire::Format;

use super::World;
use super::call::Came;
use crate::hold;

/// Rules that hold at the same time.
const MOST: usize = 3;

impl World {
    pub(crate) fn pin(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        self.know_pins(lane)?;
        let pins = self.lanes[lane].pins.clone().unwrap_or_default();
        let taken = (!pins.is_empty() && (pins.len() >= MOST || random.chance(0.4)))
            .then(|| random.below(pins.len()));
        if let Some(at) = taken {
            let id = pins[at].0;
            self.story.push(format!("  takes {:?} back", pins[at].1));
            self.lanes[lane].pins = None;
            let act = move |host: &Host, key: &LaneKey, form: Format| host.unpin(key, form, id);
            if let Came::No(error) = self.look(lane, &act)? {
                return Err(format!("unpin: {error}"));
            }
        } else {
            let text = format!("Rule {}: leave the boathouse alone.", random.below(5));
            self.story.push(format!("  pins {text:?}"));
            self.lanes[lane].pins = None;
            let act = move |host: &Host, key: &LaneKey, form: Format| host.pin(key, form, &text, None);
            if let Came::No(error) = self.look(lane, &act)? {
                return Err(format!("pin: {error}"));
            }
        }
        self.lanes[lane].before = None;
        self.know_pins(lane)
    }

    /// After a fault, nobody knows whether it was done.
    fn know_pins(&mut self, lane: usize) -> Result<(), String> {
        if self.lanes[lane].pins.is_some() {
            return Ok(());
        }
        let act = |host: &Host, key: &LaneKey, form: Format| host.pins(key, form);
        let Came::Done(rows) = self.look(lane, &act)? else { return Ok(()) };
        let active = rows.into_iter().filter(|row| row.pin.state == unforget_core::pin::PinState::Active);
        self.lanes[lane].pins = Some(active.map(|row| (row.pin.id, row.pin.text)).collect());
        Ok(())
    }

    /// Every rule that holds is in the prompt, word for word, and no other.
    pub(crate) fn pinned(&self, lane: usize, assembled: &Assembled) -> Result<(), String> {
        let Some(pins) = &self.lanes[lane].pins else { return Ok(()) };
        let ids: Vec<_> = pins.iter().map(|(id, _)| *id).collect();
        let named = &assembled.certificate.pins;
        hold!(ids == *named, "pins: {named:?}, not {ids:?}");
        let all = assembled.messages.concat();
        for n in 0..5 {
            let text = format!("Rule {n}: leave the boathouse alone.");
            let want = pins.iter().filter(|(_, pin)| *pin == text).count();
            let have = all.matches(&text).count();
            hold!(have == want, "pins: {have} times {text:?}, not {want}: {all}");
        }
        Ok(())
    }
}
