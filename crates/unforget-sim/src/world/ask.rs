//! Requests for prompts.

use unforget_bench::Random;
use unforget_engine::EngineError;
use unforget_engine::host::{Ask, Assembled, Delivered, Host, HostError, LaneKey, LiveArray};
use unforget_wire::{Dialect, Format};

use super::World;
use super::call::{Came, Item, Way, told};
use crate::check;
use crate::hold;
use crate::step::Profile;
use crate::want::Want;
use crate::words::{Kind, Msg, rewritten};

/// Budget below which a prompt may be impossible.
const FLOOR: u64 = 1_400;

impl World {
    pub(crate) fn budget(random: &mut Random) -> u64 {
        [32_000, 8_000, 3_000, 1_600, 1_100][random.weighted(&[40, 25, 20, 10, 5])]
    }

    pub(crate) fn question(&self, random: &mut Random, budget: u64, is_first: bool) -> Ask {
        let own = if self.profile.form() == Format::Pi { Dialect::Pi } else { Dialect::OpenAiChat };
        let dialect = if random.chance(0.75) { own } else { Dialect::ALL[random.below(6)] };
        let model = random.pick(&[None, None, Some("gpt-4o"), Some("claude-sonnet-4")]).map(str::to_owned);
        let prompt = random.chance(0.3).then(|| "and now?".to_owned());
        Ask { prompt, model, is_first, ..Ask::new(budget, dialect) }
    }

    pub(crate) fn ask(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        let before = self.lanes[lane].before.as_ref().map(|(ask, _)| ask.budget);
        let budget = match before.filter(|_| random.chance(0.4)) {
            // Hosts recount their other content each time, and the result varies a little.
            Some(before) => before * random.between(90, 110) / 100,
            None => Self::budget(random),
        };
        let ask = self.question(random, budget, true);
        let live = if random.chance(0.5) { Some(self.live(lane, random)) } else { None };
        self.assemble(lane, ask, live.as_ref(), random)
    }

    /// A request within a turn; later ones have a larger budget, as in real hosts.
    pub(crate) fn ask_in_turn(
        &mut self,
        lane: usize,
        random: &mut Random,
        budget: u64,
        is_first: bool,
    ) -> Result<(), String> {
        let budget = match is_first {
            true => budget,
            false if random.chance(0.5) => budget + budget / 4 * random.between(1, 8),
            false => budget * random.between(90, 110) / 100,
        };
        let mut ask = self.question(random, budget, is_first);
        if let Some((before, _)) = self.lanes[lane].before.as_ref().filter(|_| !is_first) {
            (ask.dialect, ask.model) = (before.dialect, before.model.clone());
        }
        let live = Some(self.live(lane, random)).filter(|_| random.chance(0.8));
        self.assemble(lane, ask, live.as_ref(), random)
    }

    /// The host's messages: the end of its transcript or all of it, rewritten, with its volatile input.
    fn live(&mut self, lane: usize, random: &mut Random) -> (Way, Vec<Item>) {
        let way =
            if matches!(self.profile, Profile::Chat | Profile::Keyed) { Way::Whole } else { Way::Page(None) };
        let host = &self.lanes[lane];
        let from = match way {
            Way::Whole => 0,
            _ if random.chance(0.6) => 0,
            _ => random.below(host.transcript.len() + 1),
        };
        let tail: Vec<Msg> = host.transcript[from..].to_vec();
        let mut items: Vec<Item> = if self.profile.is_timed() && random.chance(0.5) {
            let is_known = |one: &Msg| host.path.iter().any(|other| other.uid == one.uid);
            let pairs = rewritten(&tail, &is_known);
            pairs.into_iter().map(|(msg, body)| Item { msg, body, is_aside: false }).collect()
        } else {
            tail.iter().map(Item::plain).collect()
        };
        if self.profile.is_timed() && random.chance(0.3) {
            items = self.own_output(lane, items);
        }
        if self.profile != Profile::Blind && random.chance(0.15) {
            items.insert(0, self.summary(lane, random));
        }
        if self.profile != Profile::Blind {
            self.put_volatile(lane, &mut items, random);
        }
        (way, items)
    }

    /// From the second call of a turn on, hosts send the engine's own output and the messages since.
    fn own_output(&self, lane: usize, items: Vec<Item>) -> Vec<Item> {
        let host = &self.lanes[lane];
        let Some((_, given)) = host.before.as_ref().filter(|(ask, _)| ask.dialect == Dialect::Pi) else {
            return items;
        };
        let known = |text: &String| host.path.iter().find(|one| *one.text == **text);
        let own = |text: &String| text.contains(r#""unforget""#).then(|| Item::aside(text.clone()));
        let mut out: Vec<Item> =
            given.iter().filter_map(|text| known(text).map(Item::plain).or_else(|| own(text))).collect();
        let last = out.iter().rev().find(|item| !item.is_aside).map(|item| item.msg.uid);
        let at = items.iter().position(|item| Some(item.msg.uid) == last);
        let is_new = |item: &Item| !host.path.iter().any(|one| one.uid == item.msg.uid);
        out.extend(items.into_iter().skip(at.map_or(0, |at| at + 1)).filter(is_new));
        out
    }

    fn put_volatile(&mut self, lane: usize, items: &mut Vec<Item>, random: &mut Random) {
        for (after, message) in self.lanes[lane].volatile.clone() {
            let is_there = items.iter().any(|item| item.msg.uid == message.uid);
            let at = items.iter().rposition(|item| item.msg.uid == after && !item.is_aside);
            if !is_there {
                let nowhere = if after == 0 { 0 } else { items.len() };
                items.insert(at.map_or(nowhere, |at| at + 1), Item::plain(&message));
            }
        }
        if random.chance(0.25) {
            let time = self.lanes[lane].tick(random);
            let message = self.lanes[lane].writer.volatile(random, time);
            let is_before =
                items.last().is_some_and(|item| item.msg.kind == Kind::User) && random.chance(0.5);
            let at = items.len() - usize::from(is_before);
            let after = items[..at].iter().rev().find(|item| !item.is_aside).map_or(0, |item| item.msg.uid);
            items.insert(at, Item::plain(&message));
            self.lanes[lane].volatile.push((after, message));
        }
    }

    fn assemble(
        &mut self,
        lane: usize,
        mut ask: Ask,
        live: Option<&(Way, Vec<Item>)>,
        random: &mut Random,
    ) -> Result<(), String> {
        let mut volatile = Vec::new();
        if let Some((way, items)) = live {
            self.note_sent(lane, items);
            let with_id = random.chance(0.2);
            let messages: Vec<Delivered> = items.iter().map(|item| item.delivered(with_id)).collect();
            ask.live = Some(LiveArray { is_whole: matches!(way, Way::Whole), messages });
            volatile =
                items.iter().map(|item| item.msg.clone()).filter(|one| one.kind == Kind::Volatile).collect();
            self.story.push(format!("  live {way:?} of {:#?}", told(items)));
        }
        self.story.push(format!(
            "  asks for {} in {:?} of {:?}, first: {}",
            ask.budget, ask.dialect, ask.model, ask.is_first
        ));
        let act = |host: &Host, key: &LaneKey, form: Format| host.assemble(key, form, &ask);
        let foreseen = |world: &Self| match live {
            Some((way, items)) => Some(world.foresee(lane, way, items)),
            None => Some(Want::Exactly(world.lanes[lane].path.clone())),
        };
        self.lanes[lane].is_opening = live.is_some();
        let came = self.carry(lane, &foreseen, &act)?;
        self.lanes[lane].is_opening = false;
        let assembled = match came {
            Came::Done(assembled) => assembled,
            Came::Lost => return Ok(()),
            Came::No(HostError::Engine(EngineError::Irreducible(why))) => {
                hold!(ask.budget < FLOOR, "I10 floor: {why} with {}", ask.budget);
                return Ok(());
            }
            Came::No(error) => return Err(format!("assemble: {error}")),
        };
        if let Some((_, items)) = live {
            self.loosen(lane);
            self.acknowledge(lane, items, true);
        }
        if self.profile == Profile::Blind {
            return Ok(());
        }
        let path = self.lanes[lane].path.clone();
        if let Some(first) = self.lanes[lane].first.filter(|_| !ask.is_first) {
            hold!(assembled.tokens.upper <= first, "f008 loop: {:?} of {first}", assembled.tokens);
        } else {
            self.lanes[lane].first = Some(ask.budget);
        }
        check::prompt(&ask, &assembled, &path, &volatile)?;
        self.pinned(lane, &assembled)?;
        self.same_again(lane, &ask, &assembled, random)?;
        self.stable(lane, &ask, &assembled)?;
        self.lanes[lane].before = Some((ask, assembled.messages));
        Ok(())
    }

    /// Checks that an equal request gives equal bytes, cached or not, here and in a new process.
    fn same_again(
        &mut self,
        lane: usize,
        ask: &Ask,
        first: &Assembled,
        random: &mut Random,
    ) -> Result<(), String> {
        let act = |host: &Host, key: &LaneKey, form: Format| host.assemble(key, form, ask);
        let Came::Done(again) = self.look(lane, &act)? else { return Ok(()) };
        same("again", first, &again)?;
        if self.store().is_armed() || random.chance(0.5) {
            return Ok(());
        }
        let other = self.another(self.store());
        let fresh = other.assemble(&self.lanes[lane].key, self.profile.form(), ask);
        let fresh = match fresh {
            Ok(fresh) => fresh,
            Err(error) => return Err(format!("I12 fresh: {error}")),
        };
        same("in a new process", first, &fresh)
    }

    /// Checks that between breaks the prompt only grows at its end.
    fn stable(&self, lane: usize, ask: &Ask, now: &Assembled) -> Result<(), String> {
        let Some((before, messages)) = &self.lanes[lane].before else { return Ok(()) };
        let is_same = (before.budget, before.dialect, &before.model) == (ask.budget, ask.dialect, &ask.model);
        if !is_same || now.broken.is_some() || now.remade.is_none() {
            return Ok(());
        }
        // Unstored live input stands behind stored messages.
        let is_live = |text: &&String| text.contains("[System Message]");
        let length = messages.len() - messages.iter().rev().take_while(is_live).count();
        let same = messages.iter().zip(&now.messages).take_while(|(a, b)| check::is_as(a, b)).count();
        hold!(
            same + 1 >= length,
            "I14 prefix: {same} of {} messages are as before: {:#?} and {:#?}",
            messages.len(),
            messages,
            now.messages
        );
        Ok(())
    }

    pub(crate) fn compact(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        let budget = Self::budget(random);
        let ask = self.question(random, budget, true);
        let is_forced = random.chance(0.5);
        let act = |host: &Host, key: &LaneKey, form: Format| host.compact(key, form, &ask, is_forced);
        if let Came::Done(done) = self.look(lane, &act)? {
            hold!(done.after <= done.before, "compact: from {} to {}", done.before, done.after);
            hold!(done.shrank == (done.after < done.before), "compact: {done:?}");
        }
        self.lanes[lane].before = None;
        Ok(())
    }
}

fn same(when: &str, a: &Assembled, b: &Assembled) -> Result<(), String> {
    hold!(a.messages == b.messages, "I12 {when}: {:#?} and {:#?}", a.messages, b.messages);
    hold!(a.system == b.system, "I12 {when}: {:?} and {:?}", a.system, b.system);
    hold!(a.certificate == b.certificate, "I12 {when}: {:?} and {:?}", a.certificate, b.certificate);
    Ok(())
}
