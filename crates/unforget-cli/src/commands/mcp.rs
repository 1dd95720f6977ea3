//! `unforget mcp`: recall for an MCP client, over stdin and stdout, as `docs/mcp.md` says.

use std::path::PathBuf;
use std::sync::Arc;

use unforget_engine::summarise::ASKED;
use unforget_engine::{Engine, EngineError};
use unforget_server::mcp::{self, Answerer, Memory, Scope};

use crate::app::App;
use crate::args::McpArgs;
use crate::config::{Summariser, process_env};
use crate::failure::{Exit, Failure, Outcome};

/// Serves until the client goes away.
///
/// A client stays open for days, and several at once: the database is kept open for reading only, so that imports and a
/// gateway can own it meanwhile.
pub(crate) fn run(app: &mut App, args: &McpArgs) -> Outcome {
    // Made if it is not there, and brought up to this version; who owns it did that already.
    match app.open() {
        Ok(engine) => drop(engine),
        Err(failure) if failure.kind == "busy" => {}
        Err(failure) => return Err(failure),
    }
    let engine = app.read()?;
    let scope = Scope::named(&engine, &args.conversation)?;
    let (settings, path) = (app.settings.summariser.clone(), app.settings.db.value.clone());
    let memory = Memory::new(engine, scope)
        .with_answerers(Arc::new(move || answerer(&settings, &path)), ANSWERS_AT_ONCE);
    mcp::serve_stdio(memory).map_err(|error| {
        Failure::input("mcp", unforget_engine::causes(&error), "unforget mcp talks to a program: docs/mcp.md")
    })?;
    Ok(Exit::Done)
}

/// Each opens the database for writing, which one can at a time.
const ANSWERS_AT_ONCE: usize = 1;

/// The models of the settings, and the database open for the grant that their answer is made under.
fn answerer(settings: &Summariser, path: &PathBuf) -> Result<Option<Answerer>, EngineError> {
    if !settings.is_model() {
        return Ok(None);
    }
    if process_env(ASKED).is_some() {
        let what = "a model that is being asked may not ask for an answer".to_owned();
        return Err(EngineError::Usage { what, hint: "search and expand need no model".to_owned() });
    }
    let engine = Engine::open(path)?;
    let models = settings.models(&engine, &process_env, None);
    let models =
        models.map_err(|failure| EngineError::Usage { what: failure.message, hint: failure.hint })?;
    Ok(models.map(|models| (engine, Arc::new(models))))
}
