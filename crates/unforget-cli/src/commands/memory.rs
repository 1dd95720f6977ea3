//! `unforget memory`: what earlier sessions in a project left.

use serde::Serialize;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::memory::SessionItems;
use unforget_text::{MemoryBounds, MemoryItem, MemoryKind, ShownMemory, chosen, redact};

use crate::app::App;
use crate::args::MemoryArgs;
use crate::failure::{Exit, Outcome};
use crate::json::{id_of, iso};
use crate::output::paint;
use crate::recognised::{PlaceFilter, RecognisedConversation, everything};
use crate::text;

/// Most sessions of a project whose memory is read, the newest first.
pub(crate) const SESSIONS_MAX: usize = 50;

/// Items of a kind that are shown unless asked for more.
const OF_KIND: usize = 8;

/// A session of a project and what it left.
pub(crate) struct ProjectSession {
    pub(crate) recognised: RecognisedConversation,
    pub(crate) left: SessionItems,
}

/// The sessions of people at a place that left something, newest first.
///
/// * `behind_max` - see [`Engine::session_memory`].
pub(crate) fn sessions_at(
    engine: &Engine,
    place: &PlaceFilter,
    behind_max: u64,
) -> Outcome<Vec<ProjectSession>> {
    let mut at = everything(engine)?;
    place.must_be_known(&at)?;
    at.retain(|one| one.stored.parent.is_none() && place.takes(one));
    at.sort_by_key(|one| std::cmp::Reverse(one.last()));
    let mut sessions = Vec::new();
    for recognised in at.into_iter().take(SESSIONS_MAX) {
        let left = engine.session_memory(&recognised.stored, behind_max)?;
        sessions.push(ProjectSession { recognised, left });
    }
    Ok(sessions)
}

#[derive(Serialize)]
struct MemoryItemJson<'a> {
    kind: &'static str,
    text: String,
    /// The entry that says it; null if it was typed as a pin.
    id: Option<String>,
    conversation: &'a str,
    time: Option<String>,
    time_ms: Option<i64>,
}

#[derive(Serialize)]
struct MemoryJson<'a> {
    project: Option<String>,
    /// Sessions that were read, the newest first.
    sessions: usize,
    items: Vec<MemoryItemJson<'a>>,
    /// Items that fit no bound.
    more: usize,
    /// Items that somebody rejected.
    rejected: u64,
}

/// Shows the memory of a project.
pub(crate) fn run(app: &mut App, args: &MemoryArgs) -> Outcome {
    // The owner of the database keeps what it folds; beside a daemon, it is folded again next time.
    let engine = app.writer(App::open_existing)?.reader(app)?;
    let name = args.project.clone().unwrap_or_else(|| ".".to_owned());
    let place = PlaceFilter::of_project(&name)?;
    let sessions = sessions_at(&engine, &place, u64::MAX)?;
    let wanted = |item: &MemoryItem| args.kind.is_empty() || args.kind.contains(&item.kind);
    let left: Vec<Vec<MemoryItem>> = sessions
        .iter()
        .map(|one| one.left.items.iter().filter(|item| wanted(item)).cloned().collect())
        .collect();
    let of_kind = args.limit.unwrap_or(OF_KIND);
    let shown = chosen(&left, MemoryBounds { of_kind, bytes: usize::MAX });
    let more = chosen(&left, MemoryBounds { of_kind: usize::MAX, bytes: usize::MAX });
    let view = MemoryView { sessions: &sessions, shown: &shown, more: more.len() - shown.len() };
    if app.out.json {
        app.out.json(&view.json())?;
        return Ok(Exit::Done);
    }
    view.say(app)
}

struct MemoryView<'a> {
    sessions: &'a [ProjectSession],
    shown: &'a [ShownMemory],
    more: usize,
}

impl MemoryView<'_> {
    fn project(&self) -> Option<String> {
        self.sessions.first().map(|one| one.recognised.project()).filter(|name| !name.is_empty())
    }

    fn rejected(&self) -> u64 {
        self.sessions.iter().map(|one| one.left.rejected).sum()
    }

    fn json(&self) -> MemoryJson<'_> {
        let item = |one: &ShownMemory| {
            let conversation =
                self.sessions.get(one.session).map_or("", |session| session.left.conversation.0.as_str());
            MemoryItemJson {
                kind: one.item.kind.name(),
                text: redact(&one.item.text).into_owned(),
                id: one.item.seq.map(|seq| id_of(conversation, seq.0)),
                conversation,
                time: one.item.time.and_then(iso),
                time_ms: one.item.time.map(|time| time.0),
            }
        };
        MemoryJson {
            project: self.project(),
            sessions: self.sessions.len(),
            items: self.shown.iter().map(item).collect(),
            more: self.more,
            rejected: self.rejected(),
        }
    }

    fn say(&self, app: &mut App) -> Outcome {
        let (strong, dim) = (app.out.palette.strong, app.out.palette.dim);
        let mut kind = None;
        for one in self.shown {
            if kind != Some(one.item.kind) {
                kind = Some(one.item.kind);
                writeln!(app.out, "{}", paint(strong, heading(one.item.kind)))?;
            }
            let name = self.sessions.get(one.session).map_or("", |session| session.recognised.name.as_str());
            let when =
                one.item.time.map(|time: Timestamp| format!(" · {}", text::minute(time))).unwrap_or_default();
            writeln!(app.out, "  {}", redact(&one.item.text))?;
            let receipt = one.item.seq.map_or_else(|| "pinned".to_owned(), |seq| id_of(name, seq.0));
            writeln!(app.out, "    {}", paint(dim, format_args!("{receipt}{when}")))?;
        }
        let sessions = text::plural(self.sessions.len() as u64, "session");
        let mut notes = vec![format!("from {sessions}")];
        if self.shown.is_empty() {
            notes.insert(0, "nothing is left".to_owned());
        }
        notes.extend((self.more > 0).then(|| format!("{} more: -n", self.more)));
        notes.extend((self.rejected() > 0).then(|| format!("{} rejected", self.rejected())));
        writeln!(app.out, "{}", paint(dim, notes.join("; ")))?;
        if self.shown.is_empty() && self.sessions.is_empty() {
            app.out.note("no stored session belongs to this project: --project NAME names another, `unforget list` shows all");
        } else {
            app.out.note("wrong? unforget reject ID --why TEXT. Missing? unforget pin CONVERSATION TEXT");
        }
        Ok(Exit::Done)
    }
}

const fn heading(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Rule => "Rules",
        MemoryKind::Open => "Left open",
        MemoryKind::Decision => "Decisions and causes",
        MemoryKind::Fixed => "Failed, and passed later",
        MemoryKind::Works => "Commands that work",
    }
}
