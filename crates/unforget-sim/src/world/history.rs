//! Events of a host's transcript, and their reports to the engine.

use unforget_bench::Random;
use unforget_engine::host::{Event, Host, HostError, LaneKey, Page};
use unforget_wire::Format;

use super::call::{Came, Item, Way};
use super::{Lane, World};
use crate::hold;
use crate::step::Profile;
use crate::want::Want;
use crate::words::{Kind, Msg};

/// The end of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// It is reported to the engine.
    #[default]
    Commit,
    /// A person stops it.
    Abort,
    /// The process dies during it.
    Crash,
    /// Another engine served the turn, without a report to ours.
    Degraded,
    /// The person spoke in the middle: the host does not commit such turns.
    Steered,
    /// The host's report is lost.
    Lost,
}

impl World {
    pub(crate) fn turn(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        let ends = [End::Commit, End::Abort, End::Crash, End::Degraded, End::Steered, End::Lost];
        let end = ends[random.weighted(&[60, 9, 7, 8, 10, 6])];
        self.lanes[lane].turns += 1;
        self.lanes[lane].volatile.clear();
        let key = format!("t{lane}-{}", self.lanes[lane].turns);
        self.story.push(format!("  turn {key} to its end: {end:?}"));
        let from = self.lanes[lane].transcript.len();
        let user = self.lanes[lane].say_user(random);
        let is_told = end != End::Degraded;
        self.lanes[lane].first = Some(u64::MAX);
        if is_told && self.profile.has_turns() && (random.chance(0.7) || self.profile == Profile::Keyed) {
            // The turn before is over, and with it its budget.
            self.lanes[lane].first = None;
            self.ship(lane, &Way::Begin(key.clone()), &[Item::plain(&user)], false)?;
        }
        let budget = Self::budget(random);
        if is_told && random.chance(0.4) {
            self.ask_in_turn(lane, random, budget, true)?;
        }
        for round in 0..random.weighted(&[40, 35, 15, 10]) {
            self.lanes[lane].say_round(random);
            if end == End::Steered && round == 0 {
                self.lanes[lane].say_user(random);
            }
            if is_told && random.chance(0.35) {
                self.ask_in_turn(lane, random, budget, false)?;
            }
        }
        match end {
            End::Abort => {
                self.lanes[lane].say_aborted(random);
                let act =
                    |host: &Host, lane: &LaneKey, form: Format| host.abort_turn(lane, form, &key, "stopped");
                if let Came::Done(_) = self.look(lane, &act)? {
                    self.lanes[lane].open = Default::default();
                }
            }
            End::Crash => {
                if random.chance(0.5) {
                    self.lanes[lane].say_aborted(random);
                }
                self.start();
            }
            End::Commit | End::Degraded | End::Steered | End::Lost => {
                let time = self.lanes[lane].tick(random);
                let last = self.lanes[lane].writer.assistant(random, &[], time);
                self.lanes[lane].transcript.push(last);
            }
        }
        self.lanes[lane].volatile.clear();
        match end {
            // Without names, only an open turn distinguishes its messages from equal ones.
            End::Commit
                if self.profile == Profile::Keyed && self.lanes[lane].open.0.as_ref() != Some(&key) =>
            {
                Ok(())
            }
            End::Commit if self.profile.is_timed() && random.chance(0.2) => {
                let items: Vec<Item> = self.lanes[lane].transcript.iter().map(Item::plain).collect();
                self.ship(lane, &Way::After(from), &items, random.chance(0.5))
            }
            End::Commit if self.profile.has_turns() => {
                let turn: Vec<Msg> = self.lanes[lane].transcript[from..].to_vec();
                let items: Vec<Item> = turn.iter().map(Item::plain).collect();
                self.lanes[lane].committed.push((key.clone(), turn));
                self.ship(lane, &Way::Commit(key), &items, random.chance(0.5))
            }
            End::Commit => self.report(lane, random),
            _ => Ok(()),
        }
    }

    /// The report after a turn, by a host without keyed turns.
    fn report(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        match self.profile {
            Profile::Blind => self.catch_up(lane, random),
            _ => self.sync(lane, random),
        }
    }

    pub(crate) fn catch_up(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        if matches!(self.profile, Profile::Chat | Profile::Keyed) {
            return self.sync(lane, random);
        }
        let length = self.lanes[lane].transcript.len();
        let from = match random.below(4) {
            0 | 1 => self.lanes[lane].page.min(length),
            2 => 0,
            _ => random.below(length + 1),
        };
        let to = if random.chance(0.7) { length } else { from + random.below(length - from + 1) };
        let items: Vec<Item> = self.lanes[lane].transcript[from..to].iter().map(Item::plain).collect();
        self.lanes[lane].page = to;
        let cursor = format!("c{}-{to}", self.lanes[lane].writer.generation);
        self.ship(lane, &Way::Page(Some(cursor)), &items, true)
    }

    pub(crate) fn sync(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        if self.profile == Profile::Blind || self.is_torn(lane) {
            return Ok(());
        }
        let mut items: Vec<Item> = self.lanes[lane].transcript.iter().map(Item::plain).collect();
        if random.chance(0.2) {
            items.insert(0, self.summary(lane, random));
        }
        self.ship(lane, &Way::Whole, &items, random.chance(0.5))
    }

    /// Whether messages before the open turn are missing: then an array of the whole history is ambiguous.
    fn is_torn(&self, lane: usize) -> bool {
        let host = &self.lanes[lane];
        let is_on = |one: &Msg| host.path.iter().any(|other| other.uid == one.uid);
        let last = host.transcript.iter().rposition(is_on);
        let has_gap = host.transcript.iter().take(last.unwrap_or(0)).any(|one| !is_on(one));
        self.profile.is_timed() && has_gap && !host.open.1.is_empty()
    }

    /// The host's own summary or instructions before an array.
    pub(crate) fn summary(&mut self, lane: usize, random: &mut Random) -> Item {
        let number = random.below(3);
        let time = self.lanes[lane].time;
        Item::aside(match self.profile.form() {
            Format::Pi => format!(
                r#"{{"role":"compactionSummary","summary":"so far {number}","tokensBefore":900,"timestamp":{time}}}"#
            ),
            _ => format!(r#"{{"role":"system","content":"instructions {number}"}}"#),
        })
    }

    pub(crate) fn edit(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        if self.profile == Profile::Blind {
            return Ok(());
        }
        let host = &mut self.lanes[lane];
        let users: Vec<usize> =
            (0..host.transcript.len()).filter(|at| host.transcript[*at].kind == Kind::User).collect();
        let Some(at) = users.get(random.below(users.len())).copied() else { return Ok(()) };
        let old = host.transcript[at].clone();
        host.transcript[at] = host.writer.edited(&old);
        if random.chance(0.7) {
            host.transcript.truncate(at + 1);
        }
        host.page = host.page.min(host.transcript.len());
        self.sync(lane, random)
    }

    pub(crate) fn rewind(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        if self.profile == Profile::Blind {
            return Ok(());
        }
        let host = &self.lanes[lane];
        let named: Vec<usize> =
            (0..host.path.len()).filter(|at| host.named.contains(&host.path[*at].uid)).collect();
        let Some(at) = named.get(random.below(named.len())).copied().filter(|_| self.profile == Profile::Pi)
        else {
            let length = random.below(self.lanes[lane].transcript.len() + 1);
            self.lanes[lane].transcript.truncate(length);
            return self.sync(lane, random);
        };
        let entry = host.path[at].clone();
        let Some(id) = host.transcript.iter().find(|one| one.uid == entry.uid).and_then(|one| one.id.clone())
        else {
            return Ok(());
        };
        let after = host.path[..=at].to_vec();
        self.story.push(format!("  rewind to {id}"));
        let host = &mut self.lanes[lane];
        if let Some(at) = host.transcript.iter().position(|one| one.uid == entry.uid) {
            host.transcript.truncate(at + 1);
        }
        let event = Event::Rewind { to: id.to_string() };
        match self.carry(lane, &|_| Some(Want::Exactly(after.clone())), &move |host, key, form| {
            host.event(key, form, &event)
        })? {
            Came::No(error) => Err(format!("rewind: {error}")),
            Came::Done(_) => {
                self.lanes[lane].open = Default::default();
                Ok(())
            }
            Came::Lost => Ok(()),
        }
    }

    pub(crate) fn reset(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        let way = random.below(3);
        let act = move |host: &Host, key: &LaneKey, form: Format| match way {
            0 => host.event(key, form, &Event::Reset),
            1 => host.event(key, form, &Event::New),
            _ => host.catch_up(key, form, Page { is_reset: true, ..Page::default() }),
        };
        if let Came::Done(_) = self.carry(lane, &|_| Some(Want::Exactly(Vec::new())), &act)? {
            self.lanes[lane].open = Default::default();
        }
        let host = &mut self.lanes[lane];
        host.transcript.clear();
        host.volatile.clear();
        host.named.clear();
        host.page = 0;
        host.writer.generation += 1;
        if random.chance(0.5) {
            host.writer.ids = 0;
        }
        Ok(())
    }

    pub(crate) fn fork(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        if self.profile == Profile::Blind || self.lanes.len() > 3 {
            return Ok(());
        }
        let from = &self.lanes[lane];
        let named: Vec<&Msg> =
            from.path.iter().filter(|one| one.id.is_some() && from.named.contains(&one.uid)).collect();
        let until =
            named.get(random.below(named.len())).filter(|_| random.chance(0.5)).map(|one| (*one).clone());
        let known = |one: &Msg| {
            from.transcript.iter().find(|other| other.uid == one.uid).and_then(|other| other.id.clone())
        };
        let until = until.and_then(|one| known(&one).map(|id| (one.uid, id)));
        let length = until.as_ref().and_then(|(uid, _)| from.path.iter().position(|one| one.uid == *uid));
        let taken: Vec<Msg> = from.path[..length.map_or(from.path.len(), |at| at + 1)].to_vec();
        let mut child = Lane::new(self.profile, self.lanes.len());
        child.time = from.time;
        // A fork that takes the journal over has what stands beside the other lane's path, too.
        child.sent.clone_from(&from.sent);
        child.sent.extend(taken.iter().map(|one| one.text.to_string()));
        child.transcript = taken.iter().filter(|one| one.kind != Kind::Volatile).cloned().collect();
        let event = Event::Fork { from: from.key.clone(), until: until.map(|(_, id)| id.to_string()) };
        self.story.push(format!("  {event:?} as {}", child.key.0));
        self.lanes.push(child);
        let at = self.lanes.len() - 1;
        match self.carry(at, &|_| Some(Want::Exactly(taken.clone())), &move |host, key, form| {
            host.event(key, form, &event)
        })? {
            Came::No(error) => Err(format!("fork: {error}")),
            Came::Done(_) | Came::Lost => Ok(()),
        }
    }

    pub(crate) fn note(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        let child = LaneKey("agent:child".to_owned());
        let event = match random.below(6) {
            0 => Event::Rotate,
            1 => Event::Delete,
            2 => Event::Model { name: "gpt-4o".to_owned() },
            3 => Event::SubagentPrepared { child, forks: false },
            4 => Event::SubagentRolledBack { child },
            _ => Event::SubagentEnded { child, reason: "completed".to_owned() },
        };
        self.look(lane, &move |host, key, form| host.event(key, form, &event))?;
        let act = |host: &Host, _: &LaneKey, _: Format| -> Result<(), HostError> { host.maintain() };
        self.look(lane, &act).map(|_| ())
    }

    /// The host rewrites its transcript, and every entry gets another id.
    pub(crate) fn reissue(&mut self, lane: usize) {
        let host = &mut self.lanes[lane];
        host.named.clear();
        host.page = 0;
        let ids: Vec<_> = (0..host.transcript.len()).map(|_| host.writer.next_id()).collect();
        for (message, id) in host.transcript.iter_mut().zip(ids) {
            message.id = id;
        }
    }

    pub(crate) fn again(&mut self, lane: usize, random: &mut Random) -> Result<(), String> {
        let turns = &self.lanes[lane].done;
        let Some(key) = turns.get(random.below(turns.len())).cloned() else { return Ok(()) };
        let Some((key, turn)) = self.lanes[lane].committed.iter().find(|(one, _)| *one == key).cloned()
        else {
            return Ok(());
        };
        self.story.push(format!("  commits {key} once more"));
        let messages: Vec<_> = turn.iter().map(|one| Item::plain(one).delivered(false)).collect();
        let act = move |host: &Host, lane: &LaneKey, form: Format| {
            let turn = unforget_engine::host::Turn { key: key.clone(), messages: messages.clone() };
            host.commit_turn(lane, form, turn)
        };
        if let Came::Done(committed) = self.look(lane, &act)? {
            hold!(committed.is_duplicate, "f042 twice: a committed turn was taken for a new one");
        }
        Ok(())
    }
}

impl Lane {
    pub(crate) fn say_user(&mut self, random: &mut Random) -> Msg {
        let time = self.tick(random);
        let message = self.writer.user(random, time);
        self.transcript.push(message.clone());
        message
    }

    /// Tool calls and their results, perhaps incomplete.
    fn say_round(&mut self, random: &mut Random) {
        let count = random.between(1, 2);
        let unique = self.writer.count;
        let same = random.chance(0.15);
        let name = |at| if same { format!("call_{at}") } else { format!("call_{unique}_{at}") };
        let calls: Vec<String> = (0..count).map(name).collect();
        let time = self.tick(random);
        let message = self.writer.assistant(random, &calls, time);
        self.transcript.push(message);
        for call in &calls {
            if random.chance(0.93) {
                let time = self.tick_or_same(random);
                let result = self.writer.result(random, call, time);
                self.transcript.push(result);
            }
        }
        if random.chance(0.03) {
            // The calling assistant message was never stored.
            let time = self.tick(random);
            let result = self.writer.result(random, "call_lost", time);
            self.transcript.push(result);
        }
    }

    fn say_aborted(&mut self, random: &mut Random) {
        let call = format!("call_{}_x", self.writer.count);
        let time = self.tick(random);
        let message = self.writer.aborted(random, &call, time);
        self.transcript.push(message);
        if random.chance(0.5) && self.writer.form == Format::Pi {
            let time = self.tick(random);
            let result = self.writer.result(random, &call, time);
            self.transcript.push(result);
        }
    }
}
