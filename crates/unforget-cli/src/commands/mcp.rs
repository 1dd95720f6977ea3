//! `unforget mcp`: recall for an MCP client, over stdin and stdout, as described in `docs/mcp.md`.

use std::sync::Arc;

use serde_json::{Value, json};
use unforget_engine::recall::NewVerdict;
use unforget_engine::summarise::{ASKED, Current};
use unforget_engine::{Engine, EngineError};
use unforget_server::mcp::{self, Answerer, Memory, RecallScope, VerdictRequest, VerdictWriter};
use unforget_store::StoreError;

use super::engine::now;
use crate::app::App;
use crate::args::McpArgs;
use crate::config::{From, Summariser, process_env};
use crate::database::Database;
use crate::failure::{Exit, Failure, Outcome};
use crate::remote::{self, Remote, encoded};

/// Serves until the client goes away.
///
/// A client stays connected for days, and several may be connected at once: the database is kept open for reading only,
/// so that imports and a gateway can own it meanwhile.
pub(crate) fn run(app: &mut App, args: &McpArgs) -> Outcome {
    // Migrates an old database; an owning process has done so already, and nobody can on a disk that takes no writes. A
    // missing one is not made: a client that was not told where the histories are would find nothing in it, and believe
    // that.
    match app.open_existing() {
        Ok(engine) => drop(engine),
        Err(failure) if matches!(failure.kind, "busy" | "full" | "read-only") => {}
        Err(failure) if failure.kind == "no-database" => return Err(unnamed(&failure, app.settings.db.from)),
        Err(failure) => return Err(failure),
    }
    let engine = app.read()?;
    let scope = RecallScope::named(&engine, &args.conversation)?;
    let (settings, path) = (app.settings.summariser.clone(), app.settings.db.value.clone());
    let answerers = Arc::new(move || answerer(&settings, &path));
    let db = app.settings.db.value.clone();
    let verdicts: VerdictWriter = Arc::new(move |request| record(&db, request));
    let memory =
        Memory::new(engine, scope).with_answerers(answerers, ANSWERS_AT_ONCE).with_verdicts(verdicts);
    mcp::serve_stdio(memory).map_err(|error| {
        Failure::input(
            "mcp",
            unforget_engine::causes(&error),
            "let an MCP client start unforget mcp (see docs/mcp.md)",
        )
    })?;
    Ok(Exit::Done)
}

/// The failure without a database: where it was looked for, and how a client's settings name another place.
fn unnamed(failure: &Failure, from: From) -> Failure {
    let whence = match from {
        From::Flag => "that --db names",
        From::Env(_) => "that UNFORGET_DB names",
        From::File => "that the settings file names",
        From::Default => "where it is unless --db, UNFORGET_DB or the settings file names another",
    };
    Failure {
        message: format!("{}, {whence}", failure.message),
        hint: "name the database of your imports or your gateway in the client's settings: args = [\"mcp\", \"--db\", \
               \"PATH\"] (some clients give their servers no environment); or import something first: unforget import \
               --discover"
            .to_owned(),
        ..*failure
    }
}

/// Each answer opens the database for writing, which only one can do at a time.
const ANSWERS_AT_ONCE: usize = 1;

/// Most concurrent answers of a daemon, each on a thread that waits for a model.
const DAEMON_ANSWERS_AT_ONCE: usize = 4;

/// MCP over HTTP at `/mcp`, for a daemon that owns the database and has checked every request.
pub(crate) fn routes(models: Current, engine: &Engine) -> axum::Router {
    let owner = engine.clone();
    let answerers = Arc::new(move || {
        let Some(models) = models.get().filter(|models| models.is_there()) else { return Ok(None) };
        unasked()?;
        Ok(Some(Answerer::Here(owner.clone(), models)))
    });
    let owner = engine.clone();
    let verdicts: VerdictWriter = Arc::new(move |request| record_here(&owner, request));
    let memory = Memory::new(engine.clone(), RecallScope::All)
        .with_answerers(answerers, DAEMON_ANSWERS_AT_ONCE)
        .with_verdicts(verdicts);
    mcp::routes(&memory, None)
}

/// Fails if this process was itself started by a model's command.
fn unasked() -> Result<(), EngineError> {
    if process_env(ASKED).is_none() {
        return Ok(());
    }
    let what = "a model that is writing an answer cannot ask for another one".to_owned();
    Err(EngineError::Usage { what, hint: "search and expand need no model".to_owned() })
}

/// Records a client's verdict: here if nobody owns the database now, else by the daemon that does.
fn record(db: &Database, request: &VerdictRequest<'_>) -> Result<(), EngineError> {
    match db.open() {
        Ok(engine) => record_here(&engine, request),
        Err(error @ EngineError::Store(StoreError::Busy { .. })) => {
            let remote = Remote::of(db).ok_or(error)?;
            let NewVerdict { line, why, instead, author } = request.verdict;
            let body = json!({
                "entry": request.name, "line": line, "why": why, "instead": instead, "author": author,
            });
            let place = format!("conversations/{}/verdicts", encoded(request.conversation));
            let told = |failure: Failure| EngineError::Usage { what: failure.message, hint: failure.hint };
            remote.call("POST", &place, Some(&body)).map(drop).map_err(told)
        }
        Err(error) => Err(error),
    }
}

fn record_here(engine: &Engine, request: &VerdictRequest<'_>) -> Result<(), EngineError> {
    let id = engine.resolve(request.conversation)?.conversation.id;
    engine.reject_named(Some(id), request.name, &request.verdict, now()).map(drop)
}

/// The configured models, with the database open for the grant of their answer; or the daemon that owns it.
fn answerer(settings: &Summariser, db: &Database) -> Result<Option<Answerer>, EngineError> {
    if !settings.is_model() {
        return Ok(None);
    }
    unasked()?;
    let told = |failure: Failure| EngineError::Usage { what: failure.message, hint: failure.hint };
    let engine = match db.open() {
        Ok(engine) => engine,
        Err(error @ EngineError::Store(StoreError::Busy { .. })) => {
            let remote = Remote::of(db).ok_or(error)?;
            let ask = move |asked: &Value| {
                remote.call("POST", "answer", Some(asked)).and_then(remote::shaped).map_err(told)
            };
            return Ok(Some(Answerer::There(Arc::new(ask))));
        }
        Err(error) => return Err(error),
    };
    let models = settings.models(&engine, &process_env, None).map_err(told)?;
    Ok(models.map(|models| Answerer::Here(engine, Arc::new(models))))
}
