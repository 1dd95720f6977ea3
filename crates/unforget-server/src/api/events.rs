//! Changes, reported as they happen: server-sent events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{HeaderMap, HeaderName};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use unforget_core::id::ConversationId;
use unforget_engine::Engine;
use unforget_engine::host::is_internal;
use unforget_store::{Change, ChangeCallback, PeerNews, Peers};
use utoipa::{IntoParams, ToSchema};

use super::asked::Asked;
use super::problem::{Done, Problem, Problems};
use super::prompts::now;
use super::scope::Seen;
use super::tasks::Task;

/// Number of events kept for readers that come back.
const KEPT: usize = 4_096;

/// Most concurrent readers.
const READERS: usize = 64;

/// Longest silence towards a reader.
const ALIVE: Duration = Duration::from_secs(15);

/// Least time between two messages to other processes on the database.
const TELL: Duration = Duration::from_millis(100);

/// The header with the last event that a reader received.
const LAST: HeaderName = HeaderName::from_static("last-event-id");

/// An event.
#[derive(Clone)]
enum Happened {
    /// A conversation changed.
    Changed(ConversationId, Change),
    /// A tenant's task changed its state.
    Task(Arc<str>, Box<Task>),
    /// Other processes may have changed anything.
    Missed,
}

/// The latest events, in order.
#[derive(Default)]
struct Ring {
    /// Number of the first event in it.
    first: u64,
    kept: VecDeque<Happened>,
}

/// Changes in a store and among tasks. The source of an event never waits; a reader that is too slow misses events, and
/// is told so.
pub struct Events {
    /// Start time of the process: event numbers of another process mean nothing here.
    boot: i64,
    ring: Mutex<Ring>,
    /// Number of the next event.
    next: watch::Sender<u64>,
    readers: Arc<Semaphore>,
    closing: CancellationToken,
}

impl Default for Events {
    fn default() -> Self {
        Self {
            boot: now().0,
            ring: Mutex::default(),
            next: watch::Sender::new(0),
            readers: Arc::new(Semaphore::new(READERS)),
            closing: CancellationToken::new(),
        }
    }
}

impl Events {
    /// The engine, reporting its changes here, and to other processes on its database if there may be any. Theirs are reported
    /// here too.
    pub fn on(self: &Arc<Self>, engine: Engine) -> Engine {
        let events = Arc::clone(self);
        let Some(peers) = engine.peers().cloned() else {
            return engine.watched(Arc::new(move |id, what| events.push(Happened::Changed(id, what))));
        };
        let (tell, changes) = channel();
        let told: ChangeCallback = Arc::new(move |id, what| {
            events.push(Happened::Changed(id, what));
            // Nobody takes them any more when the process ends.
            tell.send((id, what)).ok();
        });
        let heard = Arc::downgrade(self);
        peers.hear(Arc::new(move |news| {
            if let Some(events) = heard.upgrade() {
                events.push(match news {
                    PeerNews::Changed(id, what) => Happened::Changed(id, what),
                    PeerNews::Missed => Happened::Missed,
                });
            }
        }));
        std::thread::spawn(move || tell_peers(peers.as_ref(), &changes));
        engine.watched(told)
    }

    /// Ends all readers.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    /// Reports a change of a task.
    pub(super) fn task(&self, tenant: &Arc<str>, task: &Task) {
        self.push(Happened::Task(Arc::clone(tenant), Box::new(task.clone())));
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, happened: Happened) {
        let mut ring = self.ring();
        if ring.kept.len() >= KEPT {
            ring.kept.pop_front();
            ring.first += 1;
        }
        ring.kept.push_back(happened);
        let next = ring.first + ring.kept.len() as u64;
        self.next.send_replace(next);
    }

    /// The events from a number on, with the next number; `None` if some of them are no longer kept.
    fn since(&self, from: u64) -> (Option<Vec<Happened>>, u64) {
        let ring = self.ring();
        let next = ring.first + ring.kept.len() as u64;
        let skipped = from.checked_sub(ring.first);
        let kept = skipped.map(|skipped| ring.kept.iter().skip(skipped as usize).cloned().collect());
        (kept, next)
    }

    /// The first event number for a reader, and whether it certainly missed events.
    fn begin(&self, last: Option<&str>) -> (u64, bool) {
        let next = *self.next.borrow();
        let Some(last) = last.filter(|last| !last.is_empty()) else { return (next, false) };
        let read = last.split_once('-').and_then(|(boot, number)| {
            let is_ours = i64::from_str_radix(boot, 16) == Ok(self.boot);
            number.parse::<u64>().ok().filter(|number| is_ours && *number < next)
        });
        read.map_or((next, true), |number| (number + 1, false))
    }
}

/// The filter of a subscription.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventFilter {
    /// Only events of this conversation.
    conversation: Option<String>,
}

/// A change of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangedJson {
    conversation: String,
    revision: u64,
    entries: u64,
    length: u64,
}

/// Sends changes as server-sent events, until the client goes away.
///
/// `event` is `conversation` (a new one), `entries`, `compaction`, `pins`, `raised`, `label`, `prompt`, `jobs` or `purge`, with the
/// conversation's present state: simultaneous changes are reported once. Or it is `task`, with the task; or `reset`:
/// more events happened than are kept, so read everything again that you show. After a break, `Last-Event-ID` continues
/// where the client was.
#[utoipa::path(get, path = "/events", tag = "events",
    params(EventFilter, ("last-event-id" = Option<String>, Header, description = "Where the client left off")),
    responses((status = 200, description = "Done", body = String, content_type = "text/event-stream"), Problems))]
pub(super) async fn events(
    seen: Seen,
    Asked(heard): Asked<EventFilter>,
    headers: HeaderMap,
) -> Done<Response> {
    let tenant = seen.tenant.clone();
    let last = headers.get(LAST).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (events, engine, only) = seen
        .with(move |engine, api| {
            let only = super::scope::confined(engine, heard.conversation.as_deref())?;
            Ok((Arc::clone(&api.events), api.engine().clone(), only))
        })
        .await?;
    let full = |_| Problem::new(503, "busy", format!("{READERS} clients listen already"), "try again later");
    let place = Arc::clone(&events.readers).try_acquire_owned().map_err(full)?;
    let (from, is_reset) = events.begin(last.as_deref());
    let closing = events.closing.clone();
    let reader =
        Reader { next: events.next.subscribe(), events, engine, tenant, only, from, is_reset, _place: place };
    let told = stream::unfold(reader, |mut reader| async move {
        let batch = reader.batch().await?;
        Some((stream::iter(batch.into_iter().map(Ok::<_, Infallible>)), reader))
    });
    let told = told.flatten().take_until(closing.cancelled_owned());
    Ok(Sse::new(told).keep_alive(KeepAlive::new().interval(ALIVE)).into_response())
}

/// A subscriber.
struct Reader {
    events: Arc<Events>,
    next: watch::Receiver<u64>,
    engine: Engine,
    tenant: Arc<str>,
    only: Option<ConversationId>,
    from: u64,
    is_reset: bool,
    _place: OwnedSemaphorePermit,
}

impl Reader {
    /// The events since the last batch, as soon as there are any; `None` at the end.
    async fn batch(&mut self) -> Option<Vec<Event>> {
        if self.is_reset {
            self.is_reset = false;
            return Some(vec![self.reset()]);
        }
        self.next.wait_for(|next| *next > self.from).await.ok()?;
        let from = self.from;
        let (happened, next) = self.events.since(from);
        self.from = next;
        let is_missed = |one: &Happened| matches!(one, Happened::Missed);
        let Some(happened) = happened.filter(|happened| !happened.iter().any(is_missed)) else {
            return Some(vec![self.reset()]);
        };
        let last = |number: u64| format!("{:x}-{number}", self.events.boot);
        let mut changed: BTreeMap<(ConversationId, Change), u64> = BTreeMap::new();
        let mut tasks = BTreeMap::new();
        for (number, one) in (from..).zip(happened) {
            match one {
                Happened::Changed(id, what) if self.only.is_none_or(|only| only == id) => {
                    changed.insert((id, what), number);
                }
                Happened::Task(tenant, task) if tenant == self.tenant && self.only.is_none() => {
                    tasks.insert(number, task);
                }
                _ => {}
            }
        }
        let (engine, tenant) = (self.engine.clone(), Arc::clone(&self.tenant));
        let shown = tokio::task::spawn_blocking(move || shown(&engine, &tenant, &changed)).await;
        let mut told: BTreeMap<u64, Event> = BTreeMap::new();
        for (number, name, json) in shown.unwrap_or_default() {
            told.insert(number, Event::default().event(name).json_data(json).ok()?);
        }
        for (number, task) in tasks {
            told.insert(number, Event::default().event("task").json_data(task).ok()?);
        }
        Some(told.into_iter().map(|(number, event)| event.id(last(number))).collect())
    }

    fn reset(&self) -> Event {
        let last = self.from.saturating_sub(1);
        Event::default().event("reset").id(format!("{:x}-{last}", self.events.boot)).data("{}")
    }
}

/// Tells other processes of changes, until the engine that reports them is gone: at most one message in [`TELL`], with each
/// change once.
fn tell_peers(peers: &dyn Peers, changes: &Receiver<(ConversationId, Change)>) {
    while let Ok(first) = changes.recv() {
        let (mut all, until) = (BTreeSet::from([first]), Instant::now() + TELL);
        while let Ok(more) = changes.recv_timeout(until.saturating_duration_since(Instant::now())) {
            all.insert(more);
        }
        if let Err(error) = peers.tell(&all) {
            tracing::warn!(%error, "other processes on the database were not told of changes");
        }
    }
}

/// The present state of conversations, for subscribers that may see them.
fn shown(
    engine: &Engine,
    tenant: &str,
    changed: &BTreeMap<(ConversationId, Change), u64>,
) -> Vec<(u64, &'static str, ChangedJson)> {
    let told = changed.iter().filter_map(|((id, what), number)| {
        let now = engine.store().conversation(*id).ok()?;
        (super::scope::is_of(tenant, &now.key) && !is_internal(&now.key)).then(|| {
            let (revision, entries, length) = (now.revision, now.entries, now.length);
            (*number, what.name(), ChangedJson { conversation: now.key.0, revision, entries, length })
        })
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_back_goes_on_or_is_told() {
        let events = Events::default();
        let happen = || events.push(Happened::Changed(ConversationId(1), Change::Entries));
        (0..3).for_each(|_| happen());
        let id = |number: u64| format!("{:x}-{number}", events.boot);
        let table = [
            (None, (3, false), "who is new hears what comes"),
            (Some(id(0)), (1, false), "who heard the first goes on at the second"),
            (Some(id(2)), (3, false), "who heard all"),
            (Some(id(9)), (3, true), "nobody heard that"),
            (Some("0-1".to_owned()), (3, true), "of another process"),
            (Some("x".to_owned()), (3, true), "no id"),
            (Some(String::new()), (3, false), "empty is none"),
        ];
        for (last, want, why) in table {
            assert_eq!(events.begin(last.as_deref()), want, "{why}");
        }
        (0..KEPT).for_each(|_| happen());
        assert!(events.since(2).0.is_none(), "it is not kept any more");
        assert_eq!(events.since(3).0.map(|kept| kept.len()), Some(KEPT));
    }
}
