//! One call of the engine, perhaps with a fault in it.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use unforget_engine::EngineError;
use unforget_engine::host::{Committed, Delivered, Host, HostError, LaneKey, Page, Receipt, Turn};
use unforget_wire::Format;
use unforget_wire::journal::Provenance;

use super::World;
use crate::fault::Died;
use crate::hold;
use crate::oracle;
use crate::step::Profile;
use crate::want::Want;
use crate::words::{Kind, Msg};

/// A message about to be sent.
#[derive(Clone)]
pub(crate) struct Item {
    /// The message.
    pub(crate) msg: Msg,
    /// Its bytes, perhaps rewritten.
    pub(crate) body: String,
    /// Whether it is our own output, or the host's summary, which never enter the path.
    pub(crate) is_aside: bool,
}

impl Item {
    pub(crate) fn plain(msg: &Msg) -> Self {
        Self { msg: msg.clone(), body: msg.text.to_string(), is_aside: false }
    }

    pub(crate) fn aside(body: String) -> Self {
        let msg = Msg { uid: 0, text: body.as_str().into(), id: None, marker: None, kind: Kind::User };
        Self { msg, body, is_aside: true }
    }

    pub(crate) fn delivered(&self, with_id: bool) -> Delivered {
        let is_volatile = self.msg.kind == Kind::Volatile;
        Delivered {
            body: Some(self.body.clone().into_bytes()),
            digest: None,
            id: self.msg.id.as_deref().filter(|_| with_id && !self.is_aside).map(str::to_owned),
            provenance: is_volatile.then_some(Provenance::InterSession),
            is_volatile,
        }
    }
}

/// The kind of a delivery.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    Begin(String),
    Commit(String),
    Page(Option<String>),
    Whole,
    /// After a turn: an array, and the number of its messages from before the turn.
    After(usize),
}

/// A call of the engine.
pub(crate) type Act<'a, T> = &'a dyn Fn(&Host, &LaneKey, Format) -> Result<T, HostError>;

/// The outcome of a call.
pub(crate) enum Came<T> {
    /// It succeeded.
    Done(T),
    /// It failed by an injected fault, and the host gave up.
    Lost,
    /// The engine refused it.
    No(HostError),
}

impl World {
    /// Calls the engine without changing the path; after a fault, perhaps again.
    pub(crate) fn look<T>(&mut self, lane: usize, act: Act<'_, T>) -> Result<Came<T>, String> {
        self.carry(lane, &|world| Some(Want::Exactly(world.lanes[lane].path.clone())), act)
    }

    /// Calls the engine; after a fault, perhaps again.
    ///
    /// * `foreseen` - the allowed paths of the lane after the call. Evaluated before each attempt: the previous attempt may
    ///   have written to the path. `None` if the host does not retry.
    pub(crate) fn carry<T>(
        &mut self,
        lane: usize,
        foreseen: &dyn Fn(&Self) -> Option<Want>,
        act: Act<'_, T>,
    ) -> Result<Came<T>, String> {
        let form = self.profile.form();
        for attempt in 0.. {
            let key = self.lanes[lane].key.clone();
            let Some(after) = &foreseen(self) else { return Ok(Came::Lost) };
            let host = &mut self.lanes[lane];
            host.was.clone_from(&host.path);
            let outcome = catch_unwind(AssertUnwindSafe(|| act(self.host(), &key, form)));
            let outcome =
                outcome.map_err(|panic| if panic.is::<Died>() { panic } else { resume_unwind(panic) });
            let has_failed = match &outcome {
                Ok(Ok(_)) => false,
                Ok(Err(error)) => format!("{error:?}").contains("injected"),
                Err(_) => true,
            };
            if !has_failed {
                return match outcome {
                    Ok(Ok(value)) => {
                        self.adopt(lane, after)?;
                        Ok(Came::Done(value))
                    }
                    Ok(Err(error)) => {
                        // The question's messages are stored before there is an answer.
                        if matches!(error, HostError::Engine(EngineError::Irreducible(_))) {
                            self.adopt(lane, after)?;
                        } else {
                            self.adopt(lane, &Want::Exactly(self.lanes[lane].path.clone()))?;
                        }
                        Ok(Came::No(error))
                    }
                    Err(_) => Err("a fault that was not armed".to_owned()),
                };
            }
            self.store().disarm();
            self.lanes[lane].first = Some(u64::MAX);
            let how = if outcome.is_err() { "died" } else { "failed" };
            self.story.push(format!("    {how}"));
            if outcome.is_err() || self.steps.is_multiple_of(2) {
                self.start();
            }
            self.settle(lane, after)?;
            self.settle_turn(lane)?;
            if attempt > 0 || self.steps.is_multiple_of(3) {
                self.story.push("    given up".to_owned());
                return Ok(Came::Lost);
            }
        }
        Err("no attempt".to_owned())
    }

    /// Checks that a call with a fault took effect completely or not at all.
    fn settle(&mut self, lane: usize, after: &Want) -> Result<(), String> {
        if self.profile == Profile::Blind {
            return Ok(());
        }
        let path = self.stored(lane)?;
        let old = &self.lanes[lane].path;
        let is_old = old.iter().map(|one| one.text.as_ref()).eq(path.iter().map(String::as_str));
        match after.read(old, &path) {
            Ok(path) => self.lanes[lane].path = path,
            Err(what) => hold!(is_old, "I21 whole: after a fault {what}"),
        }
        Ok(())
    }

    /// Takes over the turn that is open after a call with a fault: its write took effect, or not.
    fn settle_turn(&mut self, lane: usize) -> Result<(), String> {
        let status = self.host().status(&self.lanes[lane].key, self.profile.form());
        let turn = status.map_err(|error| format!("status: {error}"))?.turn;
        let host = &mut self.lanes[lane];
        if turn != host.open.0 {
            host.open = (turn, BTreeSet::new());
        }
        if host.is_opening {
            self.loosen(lane);
        }
        Ok(())
    }

    fn stored(&self, lane: usize) -> Result<Vec<String>, String> {
        let key = &self.lanes[lane].key;
        self.host().path(key, self.profile.form()).map_err(|error| format!("path: {error}"))
    }

    /// Takes over the path, if it is allowed.
    fn adopt(&mut self, lane: usize, after: &Want) -> Result<(), String> {
        let path = self.stored(lane)?;
        if self.profile == Profile::Blind {
            self.lanes[lane].path = after.path().to_vec();
            return Ok(());
        }
        self.lanes[lane].path = after.read(&self.lanes[lane].path, &path)?;
        let status = self.host().status(&self.lanes[lane].key, self.profile.form());
        let length = status.map_err(|error| format!("status: {error}"))?.path;
        hold!(length == path.len() as u64, "status: a path of {length}, not {}", path.len());
        Ok(())
    }

    /// The allowed paths after a delivery.
    pub(crate) fn foresee(&self, lane: usize, way: &Way, items: &[Item]) -> Want {
        let loose = &self.lanes[lane].open.1;
        let shown: Vec<Msg> = items
            .iter()
            .filter(|item| !item.is_aside)
            .map(|item| Msg { text: item.body.as_str().into(), ..item.msg.clone() })
            .collect();
        let (path, new) = (firm(&self.lanes[lane].path), firm(&shown));
        let firm = match way {
            Way::Begin(_) | Way::Commit(_) => oracle::turned(&path, &new),
            Way::Page(_) => oracle::windowed(&path, &new, loose),
            Way::Whole if self.profile.is_timed() => oracle::whole(&path, &new, loose),
            Way::After(_) => oracle::after(&path, &new, loose),
            Way::Whole => oracle::whole_unnamed(&path, &new, loose),
        };
        Want::Delivered { firm, items: shown, has_names: self.profile.is_timed() }
    }

    /// Delivers twice; the second delivery changes nothing.
    pub(crate) fn ship(
        &mut self,
        lane: usize,
        way: &Way,
        items: &[Item],
        with_id: bool,
    ) -> Result<(), String> {
        let old = self.lanes[lane].path.clone();
        self.story.push(format!("  {way:?} of {:#?}", told(items)));
        let messages: Vec<Delivered> = items.iter().map(|item| item.delivered(with_id)).collect();
        self.note_sent(lane, items);
        let act = |host: &Host, key: &LaneKey, form: Format| deliver(host, key, form, way, messages.clone());
        let foreseen = |world: &Self| {
            let is_told_apart = world.is_told_apart(lane, way, items);
            is_told_apart.then(|| world.foresee(lane, way, items))
        };
        self.lanes[lane].is_opening = matches!(way, Way::Begin(_));
        let came = self.carry(lane, &foreseen, &act)?;
        self.lanes[lane].is_opening = false;
        if matches!(way, Way::Whole) {
            self.forget_cut(lane, &old, with_id);
        }
        let Came::Done(receipt) = came else { return Ok(()) };
        self.acknowledge(lane, items, receipt.is_some());
        match way {
            Way::Begin(turn) => {
                if self.lanes[lane].open.0.as_ref() != Some(turn) {
                    self.lanes[lane].open = (Some(turn.clone()), BTreeSet::new());
                }
                self.loosen(lane);
            }
            Way::After(_) => self.lanes[lane].open = (None, BTreeSet::new()),
            Way::Commit(_) if receipt.is_some() => self.lanes[lane].open = (None, BTreeSet::new()),
            _ => {}
        }
        if let Way::Commit(turn) = way {
            self.lanes[lane].done.push(turn.clone());
        }
        if with_id && receipt.is_some() {
            // A copy stored beside the path has no id.
            let host = &mut self.lanes[lane];
            let is_shown = |item: &&Item| {
                host.path.iter().any(|one| one.uid == item.msg.uid && one.marker == item.msg.marker)
            };
            let shown: Vec<u64> = items.iter().filter(is_shown).map(|item| item.msg.uid).collect();
            host.named.extend(shown);
        }
        self.check_end(lane, way, items)?;
        if self.profile == Profile::Blind || !self.steps.is_multiple_of(2) {
            return Ok(());
        }
        let entries = self.entries(lane)?;
        if let Came::Done(Some(again)) = self.look(lane, &act)? {
            let now = self.entries(lane)?;
            hold!(now == entries, "I13 again: {} more entries, {again:?}", now - entries);
        }
        Ok(())
    }

    /// Without names, only an open turn distinguishes its messages from equal ones.
    fn is_told_apart(&self, lane: usize, way: &Way, items: &[Item]) -> bool {
        let host = &self.lanes[lane];
        let is_on_path = |item: &Item| host.path.iter().any(|one| one.uid == item.msg.uid);
        let is_commit = self.profile == Profile::Keyed && matches!(way, Way::Commit(_));
        !is_commit || host.open.0.is_some() || items.iter().all(is_on_path)
    }

    /// Messages that an array cut off are no longer open, nor do their rewritten versions have ids known to the engine.
    fn forget_cut(&mut self, lane: usize, old: &[Msg], with_id: bool) {
        let host = &mut self.lanes[lane];
        let same =
            old.iter().zip(&host.path).take_while(|(a, b)| a.uid == b.uid && a.marker == b.marker).count();
        let kept: BTreeSet<u64> = host.path.iter().take(same).map(|one| one.uid).collect();
        host.open.1.retain(|uid| kept.contains(uid));
        host.named.retain(|uid| with_id || kept.contains(uid));
    }

    /// Checks the results of a page: its cursor and, without names, its messages at the end of the path.
    fn check_end(&self, lane: usize, way: &Way, items: &[Item]) -> Result<(), String> {
        if let Way::Page(Some(cursor)) = way {
            let status = self.host().status(&self.lanes[lane].key, self.profile.form());
            let kept = status.map_err(|error| format!("status: {error}"))?.cursor;
            hold!(kept.as_ref() == Some(cursor), "f039 cursor: {kept:?}, not {cursor}");
        }
        if self.profile == Profile::Blind {
            let path = self.stored(lane)?;
            let is_end = items.iter().rev().zip(path.iter().rev()).all(|(item, stored)| item.body == *stored);
            hold!(
                is_end && path.len() >= items.len(),
                "I2 end: the path does not end with what came: {path:#?}"
            );
        }
        Ok(())
    }

    /// Assigns the entries of the last call to the open turn, if there is one.
    pub(crate) fn loosen(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        let is_same = |(a, b): &(&Msg, &Msg)| a.uid == b.uid && a.marker == b.marker;
        let same = lane.was.iter().zip(&lane.path).take_while(is_same).count();
        if lane.open.0.is_some() {
            lane.open.1.extend(lane.path[same..].iter().map(|one| one.uid));
        }
    }

    fn entries(&self, lane: usize) -> Result<u64, String> {
        let status = self.host().status(&self.lanes[lane].key, self.profile.form());
        Ok(status.map_err(|error| format!("status: {error}"))?.entries)
    }

    pub(crate) fn note_sent(&mut self, lane: usize, items: &[Item]) {
        self.lanes[lane].sent.extend(items.iter().map(|item| item.body.clone()));
    }

    /// Requires these bytes in every export from now on.
    pub(crate) fn acknowledge(&mut self, lane: usize, items: &[Item], is_new: bool) {
        // Our own output is not stored again.
        let is_own = |item: &&Item| item.is_aside && item.body.contains(r#""unforget""#);
        // For a rewritten copy with equal content, the original suffices.
        let is_copy = |item: &&Item| !item.is_aside && *item.msg.text != *item.body;
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for item in items.iter().filter(|item| is_new && !is_own(item) && !is_copy(item)) {
            *times.entry(&item.body).or_default() += 1;
        }
        for (body, times) in times {
            let acked = self.lanes[lane].acked.entry(body.to_owned()).or_default();
            let times =
                if body.contains("compactionSummary") || body.contains(r#""system""#) { 1 } else { times };
            *acked = times.max(*acked);
        }
    }
}

/// Delivers in one way. `None` means that the turn was known and its messages were ignored.
fn deliver(
    host: &Host,
    key: &LaneKey,
    form: Format,
    way: &Way,
    messages: Vec<Delivered>,
) -> Result<Option<Receipt>, HostError> {
    match way {
        Way::Begin(turn) => host.begin_turn(key, form, Turn { key: turn.clone(), messages }).map(Some),
        Way::Commit(turn) => {
            let Committed { is_duplicate, receipt } =
                host.commit_turn(key, form, Turn { key: turn.clone(), messages })?;
            Ok((!is_duplicate).then_some(receipt))
        }
        Way::Page(cursor) => {
            host.catch_up(key, form, Page { messages, cursor: cursor.clone(), is_reset: false }).map(Some)
        }
        Way::Whole => host.sync(key, form, messages).map(Some),
        Way::After(before) => host.after_turn(key, form, messages, *before).map(Some),
    }
}

/// The sent messages, in a readable short form.
pub(crate) fn told(items: &[Item]) -> Vec<String> {
    let id = |item: &Item| item.msg.id.as_deref().unwrap_or_default().to_owned();
    items.iter().map(|item| format!("{:?} {} {}", item.msg.kind, id(item), short(&item.body))).collect()
}

/// A path without volatile input.
fn firm(path: &[Msg]) -> Vec<Msg> {
    path.iter().filter(|one| one.kind != Kind::Volatile).cloned().collect()
}

fn short(text: &str) -> String {
    text.chars().take(100).collect()
}
