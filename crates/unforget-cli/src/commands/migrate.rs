//! `unforget migrate`.

use std::fs;
use std::path::Path;

use serde::Serialize;
use unforget_core::id::ConversationKey;
use unforget_engine::migrate::{ConversationPart, MigratedConversation, Migration, MigrationState};
use unforget_engine::{Engine, causes};
use unforget_store::{Conversation, PAGE_ROWS, Page, read_all};

use super::engine::now;
use crate::app::App;
use crate::args::MigrateArgs;
use crate::database::Database;
use crate::failure::{Exit, Failure, Outcome};
use crate::text::{self, plural};

/// The output of `migrate`.
#[derive(Debug, Serialize)]
struct MigrateJson {
    from: String,
    to: String,
    /// Whether nothing was written.
    check: bool,
    conversations: Vec<MigratedJson>,
    /// Conversations that are equal in both databases.
    equal: u64,
    /// Entries that the target got.
    added: u64,
    /// Conversations of the target that the source has not.
    only_there: u64,
}

#[derive(Debug, Serialize)]
struct MigratedJson {
    conversation: String,
    entries: u64,
    added: u64,
    state: &'static str,
    /// Parts that differ.
    parts: Vec<&'static str>,
    /// Why it was refused, or failed.
    why: Option<String>,
    /// Of all parts, in the source.
    digest: Option<String>,
}

impl MigratedJson {
    fn of(migrated: MigratedConversation) -> Self {
        let MigratedConversation { key, entries, added, state, digest } = migrated;
        let (state, parts, why) = match state {
            MigrationState::Equal => ("equal", Vec::new(), None),
            MigrationState::Missing => ("missing", Vec::new(), None),
            MigrationState::Different(parts) => {
                ("different", parts.into_iter().map(ConversationPart::name).collect(), None)
            }
            MigrationState::Refused(why) => ("refused", Vec::new(), Some(why)),
        };
        let digest = digest.map(|digest| digest.hex());
        Self { conversation: key.0, entries, added, state, parts, why, digest }
    }

    fn failed(stored: &Conversation, why: String) -> Self {
        let ConversationKey(conversation) = stored.key.clone();
        let entries = stored.entries;
        Self {
            conversation,
            entries,
            added: 0,
            state: "failed",
            parts: Vec::new(),
            why: Some(why),
            digest: None,
        }
    }

    /// What a person should know of it; `None` if it was equal before.
    fn line(&self) -> Option<String> {
        let key = text::key(&self.conversation);
        let why = self.why.as_deref().unwrap_or_default();
        match self.state {
            "equal" if self.added == 0 => None,
            "equal" => Some(format!("{key}  {}", plural(self.added, "entry"))),
            "missing" => Some(format!("{key}  is not there: {}", plural(self.entries, "entry"))),
            "different" => Some(format!("{key}  differs there: {}", self.parts.join(", "))),
            state => Some(format!("{key}  {state}: {why}")),
        }
    }
}

/// Takes every conversation of one database to another one, or compares them.
pub(crate) fn run(app: &mut App, args: &MigrateArgs) -> Outcome {
    let [from, to] = [&args.from, &args.to].map(|place| Database::new(place.clone()).map_err(wrong));
    let (from, to) = (from?, to?);
    if is_same(&from, &to) {
        return Err(Failure::usage("both names are of one database", "name another one as the target"));
    }
    let source = opened(&from)?;
    let target = if args.check { opened(&to)? } else { made(app, &to)? };
    let done = migrate(app, args.check, &source, &target)?;
    app.tell_broken(&source);
    say(app, args.check, &MigrateJson { from: from.to_string(), to: to.to_string(), ..done })
}

fn wrong(why: String) -> Failure {
    Failure::usage(why, "a database is a file, or postgres://USER@HOST/DATABASE")
}

fn is_same(from: &Database, to: &Database) -> bool {
    match (from.file(), to.file()) {
        (Some(from), Some(to)) => {
            matches!((fs::canonicalize(from), fs::canonicalize(to)), (Ok(a), Ok(b)) if a == b)
        }
        (None, None) => from == to,
        _ => false,
    }
}

/// A database for reading.
fn opened(database: &Database) -> Outcome<Engine> {
    if let Some(path) = database.file() {
        fs::metadata(path).map_err(|error| Failure::file(path, &error))?;
    }
    Ok(database.open_reader()?)
}

/// A database for writing; what is missing is made.
fn made(app: &App, database: &Database) -> Outcome<Engine> {
    let folder = database.file().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    }
    Ok(database.open_or_make(&|what| app.out.note(what))?)
}

fn migrate(app: &App, is_check: bool, source: &Engine, target: &Engine) -> Outcome<MigrateJson> {
    let all = read_all(|page| source.store().conversations(page))?;
    let entries: u64 = all.iter().map(|stored| stored.entries).sum();
    let bar = app.progress(if is_check { entries } else { entries.saturating_mul(2) }, BAR);
    let way = Migration::new(source.store(), target.store());
    let mut conversations = Vec::with_capacity(all.len());
    for stored in &all {
        bar.set_message(text::key(&stored.key.0));
        let mut passed = |count| bar.inc(count);
        let one =
            if is_check { way.check(stored, &mut passed) } else { way.carry(stored, now(), &mut passed) };
        // What is damaged in one conversation does not keep the others from going.
        conversations.push(match one {
            Ok(one) => MigratedJson::of(one),
            Err(error) => MigratedJson::failed(stored, causes(&error)),
        });
    }
    bar.finish_and_clear();
    if !is_check {
        target.store().maintain()?;
    }
    let there = conversations.iter().filter(|one| !matches!(one.state, "missing" | "failed")).count() as u64;
    Ok(MigrateJson {
        from: String::new(),
        to: String::new(),
        check: is_check,
        equal: conversations.iter().filter(|one| one.state == "equal").count() as u64,
        added: conversations.iter().map(|one| one.added).sum(),
        only_there: count(target)?.saturating_sub(there),
        conversations,
    })
}

const BAR: &str = "{bar:30} {percent:>3} %  {eta:>4}  {msg}";

fn count(engine: &Engine) -> Outcome<u64> {
    let (mut count, mut page) = (0, Page::first(PAGE_ROWS));
    loop {
        let found = engine.store().conversations(page)?;
        count += found.len() as u64;
        match found.last() {
            Some(last) if found.len() >= PAGE_ROWS => page.after = Some(last.id),
            _ => return Ok(count),
        }
    }
}

fn say(app: &mut App, is_check: bool, done: &MigrateJson) -> Outcome {
    let has_failed = done.conversations.iter().any(|one| one.state == "failed");
    let exit = if has_failed {
        Exit::Store
    } else if done.equal < done.conversations.len() as u64 {
        Exit::Problems
    } else {
        Exit::Done
    };
    if app.out.json {
        app.out.json(done)?;
        return Ok(exit);
    }
    for line in done.conversations.iter().filter_map(MigratedJson::line) {
        writeln!(app.out, "{line}")?;
    }
    let all = plural(done.conversations.len() as u64, "conversation");
    let what = if is_check {
        String::new()
    } else {
        format!(", {} new in {}", plural(done.added, "entry"), done.to)
    };
    writeln!(app.out, "{all}{what}: {} equal in both", done.equal)?;
    if done.only_there > 0 {
        app.out.note(format_args!("{} has {} more", done.to, plural(done.only_there, "conversation")));
    }
    Ok(exit)
}
