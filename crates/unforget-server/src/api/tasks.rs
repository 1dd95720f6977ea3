//! Work that outlives its request: imports, checks, copies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{HeaderMap, LOCATION};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use tokio::runtime::Handle;
use utoipa::ToSchema;

use super::ROOT;
use super::asked::At;
use super::events::Events;
use super::page::Page;
use super::problem::{Done, Problem, Problems};
use super::prompts::now;
use super::scope::Seen;
use super::tag::Shown;
use crate::json::iso;
use crate::work::apart;

/// Tasks that run at once.
const RUNNING_MAX: usize = 16;

/// Tasks that are kept; the oldest that ended goes first.
const KEPT: usize = 256;

/// Progress is told so often at most.
const TELL: Duration = Duration::from_millis(250);

/// How a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It runs.
    Running,
    /// It did what it should; see `result`.
    Done,
    /// It did not; see `problem`.
    Failed,
}

/// Work that outlives its request.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[allow(clippy::struct_field_names, reason = "the name of the field")]
pub struct Task {
    /// Its name.
    task: String,
    /// `import`, `verify`, `backup`, `reindex`, `compact` or `jobs`.
    kind: &'static str,
    /// The conversation that it is about, if it is about one.
    conversation: Option<String>,
    state: State,
    /// How much is done: bytes of an import, entries of a check, conversations of an index, jobs of models.
    done: u64,
    /// Of how much; 0 if that is not known.
    total: u64,
    /// What came of it: as the command of this name prints it with `--json`.
    #[schema(value_type = Option<Object>)]
    result: Option<Value>,
    problem: Option<Problem>,
    started: Option<String>,
    ended: Option<String>,
}

impl IntoResponse for Task {
    fn into_response(self) -> Response {
        let place = format!("{ROOT}/tasks/{}", self.task);
        ([(LOCATION, place)], axum::Json(self)).into_response()
    }
}

/// What came of a task, as JSON.
pub(super) struct Report(Value);

impl Report {
    pub(super) fn of(what: &impl Serialize) -> Done<Self> {
        serde_json::to_value(what)
            .map(Self)
            .map_err(|error| Problem::ours("writing what came of a task", &error))
    }
}

/// By number, with whose they are.
type All = BTreeMap<u64, (Arc<str>, Task)>;

/// Tasks of this process.
pub(super) struct Tasks {
    shared: Arc<Shared>,
}

struct Shared {
    /// When the process began: tasks of different processes have different names.
    boot: i64,
    all: Mutex<All>,
    events: Arc<Events>,
}

impl Shared {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Task)) {
        let told = self.all().get_mut(&number).map(|(tenant, task)| {
            change(task);
            (Arc::clone(tenant), task.clone())
        });
        if let Some((tenant, task)) = told {
            self.events.task(&tenant, &task);
        }
    }
}

/// Where a task says how far it is.
pub(super) struct Progress {
    shared: Arc<Shared>,
    number: u64,
    told: Mutex<Option<Instant>>,
}

impl Progress {
    /// * `done`, `total` - in the unit of the task; `total` is 0 if it is not known.
    pub(super) fn at(&self, done: u64, total: u64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_some_and(|told| told.elapsed() < TELL) && done < total {
            return;
        }
        *told = Some(Instant::now());
        drop(told);
        self.shared.change(self.number, |task| (task.done, task.total) = (done, total));
    }
}

impl Tasks {
    pub(super) fn new(events: Arc<Events>) -> Self {
        Self { shared: Arc::new(Shared { boot: now().0, all: Mutex::default(), events }) }
    }

    /// Begins a task on a thread of its own. Needs a runtime.
    ///
    /// * `tenant` - whose it is: nobody else sees it.
    pub(super) fn begin(
        &self,
        tenant: &Arc<str>,
        kind: &'static str,
        conversation: Option<String>,
        work: impl FnOnce(&Progress) -> Done<Report> + Send + 'static,
    ) -> Done<Task> {
        self.track((tenant, kind, conversation), |progress| async move {
            let done = tokio::task::spawn_blocking(move || work(&progress)).await;
            done.unwrap_or_else(|error| Err(Problem::ours("a task", &error)))
        })
    }

    /// The same for a task that waits for models: the end of the daemon does not wait for it.
    pub(super) fn begin_asking(
        &self,
        tenant: &Arc<str>,
        kind: &'static str,
        conversation: Option<String>,
        work: impl FnOnce(&Progress) -> Done<Report> + Send + 'static,
    ) -> Done<Task> {
        self.track((tenant, kind, conversation), |progress| async move {
            let done = apart(move || work(&progress)).await;
            done.unwrap_or_else(|error| Err(Problem::ours("a task", &error)))
        })
    }

    fn track<F: Future<Output = Done<Report>> + Send + 'static>(
        &self,
        (tenant, kind, conversation): (&Arc<str>, &'static str, Option<String>),
        work: impl FnOnce(Progress) -> F,
    ) -> Done<Task> {
        let (number, task) = self.enter(tenant, kind, conversation)?;
        let shared = Arc::clone(&self.shared);
        shared.events.task(tenant, &task);
        metrics::gauge!("unforget_tasks_running", "kind" => kind).increment(1.0);
        let progress = Progress { shared: Arc::clone(&shared), number, told: Mutex::default() };
        let running = work(progress);
        Handle::current().spawn(async move {
            let done = running.await;
            metrics::gauge!("unforget_tasks_running", "kind" => kind).decrement(1.0);
            let state = if done.is_ok() { State::Done } else { State::Failed };
            metrics::counter!("unforget_tasks_total", "kind" => kind, "ok" => done.is_ok().to_string())
                .increment(1);
            shared.change(number, |task| {
                task.state = state;
                task.ended = iso(now());
                match done {
                    Ok(Report(result)) => task.result = Some(result),
                    Err(problem) => task.problem = Some(problem),
                }
            });
        });
        Ok(task)
    }

    fn enter(
        &self,
        tenant: &Arc<str>,
        kind: &'static str,
        conversation: Option<String>,
    ) -> Done<(u64, Task)> {
        let mut all = self.shared.all();
        let is_running = |task: &Task| task.state == State::Running;
        if all.values().filter(|(_, task)| is_running(task)).count() >= RUNNING_MAX {
            let what = format!("{RUNNING_MAX} tasks run already");
            return Err(Problem::new(503, "busy", what, "wait for one of GET /api/v1/tasks to end"));
        }
        if all.len() >= KEPT {
            let oldest = all.iter().find(|(_, (_, task))| !is_running(task)).map(|(number, _)| *number);
            oldest.and_then(|number| all.remove(&number));
        }
        let number = all.last_key_value().map_or(1, |(number, _)| number + 1);
        let task = Task {
            task: format!("{:x}-{number}", self.shared.boot),
            kind,
            conversation,
            state: State::Running,
            done: 0,
            total: 0,
            result: None,
            problem: None,
            started: iso(now()),
            ended: None,
        };
        all.insert(number, (Arc::clone(tenant), task.clone()));
        Ok((number, task))
    }

    /// Of a tenant, newest first.
    fn of(&self, tenant: &str) -> Vec<Task> {
        let all = self.shared.all();
        all.values().rev().filter(|(whose, _)| **whose == *tenant).map(|(_, task)| task.clone()).collect()
    }
}

/// Lists tasks, newest first; the newest 256 of this process are kept.
#[utoipa::path(get, path = "/tasks", tag = "tasks",
    responses((status = 200, description = "Done", body = inline(Page<Task>)), Problems))]
pub(super) async fn list(seen: Seen, headers: HeaderMap) -> Done<Response> {
    let tenant = seen.tenant.clone();
    seen.with(move |_, api| {
        let all = api.tasks.of(&tenant);
        Ok(Shown::new(&Page::new("", KEPT, all, |task| task.task.clone(), Clone::clone))?.answer(&headers))
    })
    .await
}

/// A task.
#[derive(Debug, serde::Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct Called {
    /// Its name.
    task: String,
}

/// Says how a task stands.
#[utoipa::path(get, path = "/tasks/{task}", tag = "tasks", params(Called),
    responses((status = 200, description = "Done", body = Task), Problems))]
pub(super) async fn show(seen: Seen, At(called): At<Called>, headers: HeaderMap) -> Done<Response> {
    let tenant = seen.tenant.clone();
    seen.with(move |_, api| {
        let found = api.tasks.of(&tenant).into_iter().find(|task| task.task == called.task);
        let absent = || {
            Problem::absent(
                "no-task",
                format!("there is no task {}", called.task),
                "GET /api/v1/tasks lists them",
            )
        };
        Ok(Shown::new(&found.ok_or_else(absent)?)?.answer(&headers))
    })
    .await
}
