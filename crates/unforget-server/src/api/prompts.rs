//! Present and past prompts, and the reasons for their content.

use std::sync::Arc;

use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use unforget_core::policy::WINDOW_MAX;
use unforget_engine::Engine;
use unforget_engine::prompt::{Session, Shape, ThreadRef, TurnPlace, Until};
use unforget_engine::summarise::{Summarisers, Urgency};
use unforget_engine::trust::Resolved;
use unforget_wire::{Dialect, Format, validate};
use utoipa::IntoParams;

use super::asked::{Asked, At, Named};
use super::page::LIMIT_MAX;
use super::play_limit::PlayLimit;
use super::problem::{Done, Problem, Problems};
use super::scope::{Seen, lane};
use super::tag::Shown;
use super::tasks::{Progress, Report, Task};
use super::{Api, conversations};
use crate::failed::Failed;
use crate::json::{
    CertificateJson, DecisionsJson, DiffJson, JobsJson, PromptJson, PromptsJson, RebuiltJson, RecipeJson,
    WhyJson, Worked, violation,
};
use crate::work::Work;
pub(super) use crate::work::now;

/// Allowed windows of a prompt, in tokens.
const WINDOWS: std::ops::RangeInclusive<u64> = 1..=WINDOW_MAX;

/// The least window in tokens that a prompt is made for, as on the command line.
const WINDOW_LEAST: u64 = 1_000;

/// The target of a prompt.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct For {
    /// Window in tokens, at most 10,000,000; by default that of the settings.
    #[param(minimum = 1, maximum = 10_000_000_u64)]
    window: Option<u64>,
    /// Name of the model, which selects the tokeniser.
    model: Option<String>,
    /// Form of the request: `anthropic`, `openai-chat`, `openai-responses`, `gemini`, `bedrock`, `pi`; by default that
    /// of the transcript's host.
    dialect: Option<String>,
}

impl For {
    pub(super) fn shape(&self, api: &Api, format: &str) -> Done<(Shape, Option<String>)> {
        let named = |name: &String| {
            let names: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
            let wrong =
                || Problem::bad(format!("there is no dialect {name}; the dialects are {}", names.join(", ")));
            Dialect::by_name(name).ok_or_else(wrong)
        };
        let dialect = self.dialect.as_ref().map(named).transpose()?.or(api.settings.dialect);
        let usual = || Dialect::usual(Format::by_name(format).unwrap_or(Format::Unknown));
        let window = self.window.unwrap_or(api.settings.window);
        if !WINDOWS.contains(&window) {
            let what = format!("a window of {window} tokens is out of range: it has from 1 to {WINDOW_MAX}");
            return Err(Problem::bad(what));
        }
        if window < WINDOW_LEAST {
            let what =
                format!("no request fits a window of {window} tokens: the least window has {WINDOW_LEAST}");
            return Err(Problem::new(422, "irreducible", what, "name a larger window"));
        }
        let model = self.model.clone().or_else(|| api.settings.model.clone());
        Ok((Shape::new(window, model.as_deref(), dialect.unwrap_or_else(usual)), model))
    }
}

/// The time of a prompt.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct When {
    /// The state at the beginning of this turn, from 1; by default the present.
    #[param(minimum = 1)]
    turn: Option<u64>,
}

/// A read-only session: its preparations are discarded and disturb no live conversation.
fn session(
    engine: &Engine,
    found: &Resolved,
    shape: Shape,
    until: Until,
    limit: &PlayLimit,
) -> Done<Session> {
    let engine = engine.confined([found.conversation.id].into());
    open(&engine, found, shape, until, limit)
}

fn open(engine: &Engine, found: &Resolved, shape: Shape, until: Until, limit: &PlayLimit) -> Done<Session> {
    let lane = ThreadRef { conversation: found.conversation.id, thread: found.thread };
    let opened = Session::open_while(engine, lane, shape, until, &mut |_, _| limit.goes_on());
    let mut session = opened.map_err(|error| limit.problem(error, &found.conversation.key))?;
    session.at(now());
    Ok(session)
}

/// Makes the prompt of a conversation, with its certificate. Changes nothing.
#[utoipa::path(get, path = "/conversations/{name}/prompt", tag = "prompts", params(Named, For, When),
    responses((status = 200, description = "Done", body = PromptJson), Problems))]
pub(super) async fn prompt(
    seen: Seen,
    At(named): At<Named>,
    Asked(shape): Asked<For>,
    Asked(when): Asked<When>,
    headers: HeaderMap,
) -> Done<Response> {
    seen.playing(named.name, move |engine, found, api, limit| {
        let stored = &found.conversation;
        let until = match when.turn {
            None => Until::Now,
            Some(turn) => {
                let lane = ThreadRef { conversation: stored.id, thread: found.thread };
                let TurnPlace::At(seq) = engine.turn(lane, turn)? else {
                    let what = format!("{} has no turn {turn}", stored.key);
                    return Err(Problem::absent("no-turn", what, "turns count from 1"));
                };
                Until::Seq(seq)
            }
        };
        let (shape, model) = shape.shape(api, &stored.format)?;
        let prompt = session(engine, &found, shape, until, limit)?.prompt()?;
        let request = prompt.render(shape.target());
        let violations = validate(&request, shape.target()).err().unwrap_or_default();
        let violations = violations.iter().map(violation).collect();
        let (key, dialect) = (&stored.key.0, shape.dialect.name());
        let certificate = CertificateJson::new(key, dialect, model.as_deref(), &prompt, violations);
        let shown = PromptJson::new(request, certificate);
        let shown = shown.map_err(|error| Problem::ours("writing a prompt", &error))?;
        Ok(Shown::new(&shown)?.answer(&headers))
    })
    .await
}

/// The urgency of models' work.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Pressed {
    /// Whether models do waiting and abandoned jobs now, regardless of breakers; by default no.
    force: Option<bool>,
}

/// Makes summaries of old entries, so that the next prompt is smaller, and lets models write the wanted ones. Runs as a
/// task; its result is the output of `unforget compact`. `If-Match`: the conversation's tag.
#[utoipa::path(post, path = "/conversations/{name}/compact", tag = "prompts",
    params(Named, For, Pressed, ("if-match" = Option<String>, Header, description = "Tag of the conversation")),
    responses((status = 202, description = "Begun", body = Task, headers(("location" = String, description = "The task"))), Problems))]
pub(super) async fn compact(
    seen: Seen,
    At(named): At<Named>,
    Asked(shape): Asked<For>,
    Asked(Pressed { force }): Asked<Pressed>,
    headers: HeaderMap,
) -> Done<Response> {
    let tenant = seen.tenant.clone();
    let urgency = if force == Some(true) { Urgency::Manual } else { Urgency::Normal };
    seen.of(named.name, move |engine, found, api| {
        conversations::full(engine, &found)?.must_match(&headers)?;
        let (shape, _) = shape.shape(api, &found.conversation.format)?;
        let (inside, key) = (Arc::clone(api), found.conversation.key.clone());
        let task = api.tasks.begin_asking(&tenant, "compact", Some(key.0.clone()), move |progress| {
            let models = inside.asked_models();
            inside.at_jobs(&found, models.as_deref(), progress, |work| {
                let lane = ThreadRef { conversation: found.conversation.id, thread: found.thread };
                let mut session = Session::open_whole(work.engine, lane, shape, &mut |done, total| {
                    (work.progress)(done, total);
                    !work.cancel.is_cancelled()
                })?;
                session.at(now());
                let done = work.compact(&found.conversation, session, urgency, || inside.forget(&key))?;
                Report::of(&done)
            })
        })?;
        Ok((StatusCode::ACCEPTED, task).into_response())
    })
    .await
}

impl Api {
    /// Forgets the state of a live conversation in memory after it changed in the store: its next call reads it again.
    pub(super) fn forget(&self, key: &unforget_core::id::ConversationKey) {
        if let Some(lane) = lane(key) {
            self.host.close(&lane);
        }
    }

    /// The models, if any can be called now.
    fn asked_models(&self) -> Option<Arc<Summarisers>> {
        self.models.get().filter(|models| models.is_there())
    }

    /// Works on the jobs of a conversation in turn, so that no other worker does meanwhile.
    fn at_jobs(
        &self,
        found: &Resolved,
        models: Option<&Summarisers>,
        progress: &Progress,
        act: impl FnOnce(&Work<'_>) -> Done<Report>,
    ) -> Done<Report> {
        let is_taken = || {
            let what = format!("models work on {} for somebody else", found.conversation.key);
            Problem::new(503, "busy", what, "wait for the task that does, and run it again")
        };
        let claim = || self.models.claim(found.conversation.id, progress.cancel()).ok_or_else(is_taken);
        let _claim = models.map(|_| claim()).transpose()?;
        let at = |done, total| progress.at(done, total);
        act(&Work { engine: self.engine(), models, cancel: progress.cancel(), progress: &at })
    }
}

/// Lists the prompts given to a live host, as far as they are kept: the newest 256.
#[utoipa::path(get, path = "/conversations/{name}/prompts", tag = "prompts", params(Named),
    responses((status = 200, description = "Done", body = PromptsJson), Problems))]
pub(super) async fn prompts(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        let recipes = engine.recipes(found.conversation.id)?;
        let prompts = recipes.iter().map(|(number, recipe)| RecipeJson::new(*number, recipe)).collect();
        Ok(Shown::new(&PromptsJson { conversation: found.conversation.key.0, prompts })?.answer(&headers))
    })
    .await
}

/// A prompt of a conversation.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct Numbered {
    /// Its key, percent-encoded, or enough of it.
    name: String,
    /// Number of the prompt in the list of prompts.
    number: u64,
}

fn kept(engine: &Engine, found: &Resolved, number: u64) -> Done<()> {
    let is_there = engine.recipes(found.conversation.id)?.iter().any(|(kept, _)| *kept == number);
    let absent = || {
        let what = format!("{} has no kept prompt {number}", found.conversation.key);
        Problem::absent("no-prompt", what, "GET /api/v1/conversations/{name}/prompts lists the kept prompts")
    };
    is_there.then_some(()).ok_or_else(absent)
}

/// Composes a sent prompt again, and reports whether it is equal byte for byte.
#[utoipa::path(get, path = "/conversations/{name}/prompts/{number}", tag = "prompts", params(Numbered),
    responses((status = 200, description = "Done", body = RebuiltJson), Problems))]
pub(super) async fn rebuilt(seen: Seen, At(at): At<Numbered>, headers: HeaderMap) -> Done<Response> {
    seen.of(at.name, move |engine, found, _| {
        kept(engine, &found, at.number)?;
        let rebuilt = engine.rebuild(found.conversation.id, at.number)?;
        let shown = RebuiltJson::new(&found.conversation.key.0, at.number, &rebuilt);
        let shown = shown.map_err(|error| Problem::ours("writing a prompt", &error))?;
        Ok(Shown::new(&shown)?.answer(&headers))
    })
    .await
}

/// Two prompts.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Between {
    /// Number of the earlier prompt.
    from: u64,
    /// Number of the later prompt.
    to: u64,
}

/// Shows the differences between two sent prompts, and their reasons.
#[utoipa::path(get, path = "/conversations/{name}/diff", tag = "prompts", params(Named, Between),
    responses((status = 200, description = "Done", body = DiffJson), Problems))]
pub(super) async fn diff(
    seen: Seen,
    At(named): At<Named>,
    Asked(Between { from, to }): Asked<Between>,
    headers: HeaderMap,
) -> Done<Response> {
    seen.of(named.name, move |engine, found, _| {
        kept(engine, &found, from)?;
        kept(engine, &found, to)?;
        let difference = engine.difference(found.conversation.id, from, to)?;
        Ok(Shown::new(&DiffJson::new(&found.conversation.key.0, from, to, &difference))?.answer(&headers))
    })
    .await
}

/// An entry.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct One {
    /// The entry: `12`, `s:12` or `e:KEY:12`.
    entry: String,
}

/// Shows how the newest prompt represents an entry, and since when.
#[utoipa::path(get, path = "/conversations/{name}/why", tag = "prompts", params(Named, One, For),
    responses((status = 200, description = "Done", body = WhyJson), Problems))]
pub(super) async fn why(
    seen: Seen,
    At(named): At<Named>,
    Asked(one): Asked<One>,
    Asked(shape): Asked<For>,
    headers: HeaderMap,
) -> Done<Response> {
    seen.playing(named.name, move |engine, found, api, limit| {
        let (id, seq) = engine.entry_named(Some(found.conversation.id), &one.entry)?;
        let key = engine.store().conversation(id)?.key.0;
        let why = if let Some(why) = engine.represented(id, seq)? {
            why
        } else {
            let found = engine.resolve(&key)?;
            let (shape, _) = shape.shape(api, &found.conversation.format)?;
            // The prompt's parts are named in the answer, so their summaries must be stored.
            engine.represented_now(id, seq, &mut open(engine, &found, shape, Until::Now, limit)?)?
        };
        Ok(Shown::new(&WhyJson::new(&key, seq, &why))?.answer(&headers))
    })
    .await
}

/// The length of a list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Newest {
    /// Most decisions to return, the newest ones.
    #[param(minimum = 1, maximum = 500, default = 50)]
    limit: Option<usize>,
}

/// Lists the decisions of the newest turns, with their reasons.
#[utoipa::path(get, path = "/conversations/{name}/decisions", tag = "prompts", params(Named, Newest),
    responses((status = 200, description = "Done", body = DecisionsJson), Problems))]
pub(super) async fn decisions(
    seen: Seen,
    At(named): At<Named>,
    Asked(Newest { limit }): Asked<Newest>,
    headers: HeaderMap,
) -> Done<Response> {
    let limit = limit.unwrap_or(50);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(Problem::bad(format!("`limit` is {limit}; it has to be from 1 to {LIMIT_MAX}")));
    }
    seen.of(named.name, move |engine, found, _| {
        let rows = engine.store().decisions(found.conversation.id)?;
        let rows = rows.get(rows.len().saturating_sub(limit)..).unwrap_or_default();
        let decisions = rows.iter().map(Into::into).collect();
        Ok(Shown::new(&DecisionsJson { conversation: found.conversation.key.0, decisions })?.answer(&headers))
    })
    .await
}

/// The jobs of a conversation. Only the owner sees the daemon's accounts.
fn jobs_of(engine: &Engine, found: &Resolved, dropped: u64, is_owner: bool) -> Done<JobsJson> {
    Ok(narrowed(Work::list(engine, &found.conversation, dropped, Worked::default())?, is_owner))
}

fn narrowed(jobs: JobsJson, is_owner: bool) -> JobsJson {
    let accounts = if is_owner { jobs.accounts } else { Vec::new() };
    JobsJson { accounts, ..jobs }
}

/// Lists summaries that models should write.
#[utoipa::path(get, path = "/conversations/{name}/jobs", tag = "prompts", params(Named),
    responses((status = 200, description = "Done", body = JobsJson), Problems))]
pub(super) async fn jobs(seen: Seen, At(named): At<Named>, headers: HeaderMap) -> Done<Response> {
    let is_owner = seen.is_owner();
    seen.of(named.name, move |engine, found, _| {
        Ok(Shown::new(&jobs_of(engine, &found, 0, is_owner)?)?.answer(&headers))
    })
    .await
}

/// Drops the waiting jobs, and returns their number.
#[utoipa::path(delete, path = "/conversations/{name}/jobs", tag = "prompts", params(Named),
    responses((status = 200, description = "Done", body = JobsJson), Problems))]
pub(super) async fn drop_jobs(seen: Seen, At(named): At<Named>) -> Done<Response> {
    let is_owner = seen.is_owner();
    seen.of(named.name, move |engine, found, _| {
        let dropped = engine.store().drop_jobs(found.conversation.id, now())?;
        Ok(axum::Json(jobs_of(engine, &found, dropped, is_owner)?).into_response())
    })
    .await
}

/// Lets models do the jobs of a conversation, in a task with the result of `GET` on the jobs.
#[utoipa::path(post, path = "/conversations/{name}/jobs/run", tag = "prompts", params(Named),
    responses((status = 202, description = "Begun", body = Task, headers(("location" = String, description = "The task"))), Problems))]
pub(super) async fn run_jobs(seen: Seen, At(named): At<Named>) -> Done<Response> {
    let (tenant, is_owner) = (seen.tenant.clone(), seen.is_owner());
    seen.of(named.name, move |_, found, api| {
        let models = api.asked_models().ok_or_else(Failed::no_model)?;
        let (inside, key) = (Arc::clone(api), found.conversation.key.0.clone());
        let task = api.tasks.begin_asking(&tenant, "jobs", Some(key), move |progress| {
            inside.at_jobs(&found, Some(&models), progress, |work| {
                let worked = work.jobs(found.conversation.id, Urgency::Manual)?.unwrap_or_default();
                let jobs = Work::list(work.engine, &found.conversation, 0, worked)?;
                Report::of(&narrowed(jobs, is_owner))
            })
        })?;
        Ok((StatusCode::ACCEPTED, task).into_response())
    })
    .await
}
