//! `unforget restore`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use unforget_engine::{Engine, EngineError};
use unforget_store::{StoreError, read_all};

use crate::app::App;
use crate::args::RestoreArgs;
use crate::failure::{Exit, Failure, Outcome};

#[derive(Serialize)]
struct RestoreJson {
    db: String,
    from: String,
    conversations: u64,
    kept: Option<String>,
}

/// Verifies the copy, puts it beside the database and swaps them. The old database is kept.
pub(crate) fn run(app: &mut App, args: &RestoreArgs) -> Outcome {
    let db = app.settings.db.value.file_for("restore")?.to_owned();
    fs::metadata(&args.file).map_err(|error| Failure::file(&args.file, &error))?;
    if same_file(&args.file, &db) {
        return Err(Failure::usage(
            "the copy is the database itself",
            "name a file that unforget backup wrote",
        ));
    }
    let is_there = db.exists();
    if is_there && !args.yes {
        return Err(Failure::usage(
            format!("there is a database at {}", db.display()),
            "add --yes to put the copy in its place; the old one is kept beside it",
        ));
    }
    if is_there {
        // Before the copy: a whole database is copied for long.
        refuse_owned(&db)?;
    }
    let fresh = Fresh(beside(&db, "restoring"));
    let conversations = {
        let copy = Engine::open_reader(&args.file)?;
        let problems = copy.store().verify(&mut |_, _| {})?;
        // Derived data that is damaged is made again from the log.
        if let Some(problem) = problems.iter().find(|problem| !problem.is_derived()) {
            let message = format!("{} does not verify: {}", args.file.display(), problem.detail);
            return Err(Failure::input("damaged-copy", message, "use another copy"));
        }
        if let Some(folder) = db.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
        }
        fresh.remove()?;
        copy.store().backup(&fresh.0)?;
        read_all(|page| copy.store().conversations(page))?.len() as u64
    };
    let kept = if is_there { Some(set_aside(&db)?) } else { None };
    fs::rename(&fresh.0, &db).map_err(|error| Failure::file(&db, &error))?;
    let json = RestoreJson {
        db: db.display().to_string(),
        from: args.file.display().to_string(),
        conversations,
        kept: kept.map(|path| path.display().to_string()),
    };
    say(app, &json)?;
    Ok(Exit::Done)
}

fn say(app: &mut App, done: &RestoreJson) -> Outcome<()> {
    if app.out.json {
        return app.out.json(done);
    }
    let count = crate::text::plural(done.conversations, "conversation");
    writeln!(app.out, "{}: {count}, verified, from {}", done.db, done.from)?;
    if let Some(kept) = &done.kept {
        app.out.note(format_args!("what was there is now {kept}; delete it when you are sure"));
    }
    Ok(())
}

/// Refuses if another process owns the database: it would continue writing to a file without a name. A damaged one has no owner.
fn refuse_owned(db: &Path) -> Outcome<()> {
    match Engine::open(db) {
        Err(error @ EngineError::Store(StoreError::Busy { .. })) => Err(error.into()),
        _ => Ok(()),
    }
}

/// The copy that is to become the database. Removed when dropped, unless it has another name by then.
struct Fresh(PathBuf);

impl Fresh {
    fn remove(&self) -> Outcome<()> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::file(&self.0, &error)),
            _ => Ok(()),
        }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // The first error is the one that is told.
        drop(self.remove());
    }
}

/// Moves the old database away, with SQLite's files beside it.
fn set_aside(db: &Path) -> Outcome<PathBuf> {
    refuse_owned(db)?;
    let kept = (1..=u16::MAX).map(|n| beside(db, &format!("before-restore-{n}"))).find(|path| !path.exists());
    let kept = kept.unwrap_or_else(|| beside(db, "before-restore"));
    for suffix in ["-wal", "-shm"] {
        let from = with_suffix(db, suffix);
        match fs::rename(&from, with_suffix(&kept, suffix)) {
            Ok(()) => (),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (),
            Err(error) => return Err(Failure::file(&from, &error)),
        }
    }
    fs::rename(db, &kept).map_err(|error| Failure::file(db, &error))?;
    Ok(kept)
}

fn beside(db: &Path, what: &str) -> PathBuf {
    with_suffix(db, &format!(".{what}"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
}
