//! Tasks: work that outlives its request, such as imports, checks, copies.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::header::{HeaderMap, LOCATION};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Value;
use tokio::runtime::Handle;
use unforget_engine::summarise::Cancel;
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

/// Most concurrent tasks.
const RUNNING_MAX: usize = 16;

/// Most tasks kept; the oldest completed one is dropped first.
const KEPT: usize = 256;

/// Least time between two reports of progress.
const TELL: Duration = Duration::from_millis(250);

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// It runs.
    Running,
    /// It succeeded; see `result`.
    Done,
    /// It failed; see `problem`.
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
    /// The conversation concerned, if any.
    conversation: Option<String>,
    state: State,
    /// Completed amount: bytes of an import, entries of a check, conversations of an index, jobs of models.
    done: u64,
    /// Total amount; 0 if unknown.
    total: u64,
    /// The result, as the command of this name prints it with `--json`.
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

/// The result of a task, as JSON.
pub(super) struct Report(Value);

impl Report {
    pub(super) fn of(what: &impl Serialize) -> Done<Self> {
        serde_json::to_value(what)
            .map(Self)
            .map_err(|error| Problem::ours("writing what came of a task", &error))
    }
}

/// A task and its control.
struct Kept {
    tenant: Arc<str>,
    task: Task,
    /// Ends it early; `None` if that is impossible.
    cancel: Option<Cancel>,
}

#[derive(Default)]
struct All {
    by_number: BTreeMap<u64, Kept>,
    /// Whether the daemon is ending: tasks that wait for models would wait in vain.
    is_closed: bool,
}

/// A task about to begin.
struct TaskOrder<'a> {
    tenant: &'a Arc<str>,
    kind: &'static str,
    conversation: Option<String>,
    /// Ends the task early, where that is possible.
    cancel: Option<Cancel>,
}

/// The tasks of this process.
pub(super) struct Tasks {
    shared: Arc<Shared>,
}

struct Shared {
    /// Start time of the process, so that tasks of different processes have different names.
    boot: i64,
    all: Mutex<All>,
    events: Arc<Events>,
}

impl Shared {
    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Task)) {
        let told = self.all().by_number.get_mut(&number).map(|kept| {
            change(&mut kept.task);
            (Arc::clone(&kept.tenant), kept.task.clone())
        });
        if let Some((tenant, task)) = told {
            self.events.task(&tenant, &task);
        }
    }
}

/// Through this value a task reports its progress and learns that it should end.
pub(super) struct Progress {
    shared: Arc<Shared>,
    number: u64,
    told: Mutex<Option<Instant>>,
    cancel: Cancel,
}

impl Progress {
    /// Whether the task should end; for tasks that wait for models.
    pub(super) const fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// * `done`, `total` - in the task's unit; `total` is 0 if unknown.
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

    /// Begins a task on a separate thread. Needs a runtime.
    ///
    /// * `tenant` - the task's owner: no other tenant sees it.
    pub(super) fn begin(
        &self,
        tenant: &Arc<str>,
        kind: &'static str,
        conversation: Option<String>,
        work: impl FnOnce(&Progress) -> Done<Report> + Send + 'static,
    ) -> Done<Task> {
        self.track(TaskOrder { tenant, kind, conversation, cancel: None }, |progress| async move {
            let done = tokio::task::spawn_blocking(move || work(&progress)).await;
            done.unwrap_or_else(|error| Err(Problem::ours("a task", &error)))
        })
    }

    /// Begins a task that waits for models: the daemon's end does not wait for it, and it can end early.
    pub(super) fn begin_asking(
        &self,
        tenant: &Arc<str>,
        kind: &'static str,
        conversation: Option<String>,
        work: impl FnOnce(&Progress) -> Done<Report> + Send + 'static,
    ) -> Done<Task> {
        let cancel = Some(Cancel::default());
        self.track(TaskOrder { tenant, kind, conversation, cancel }, |progress| async move {
            let done = apart(move || work(&progress)).await;
            done.unwrap_or_else(|error| Err(Problem::ours("a task", &error)))
        })
    }

    fn track<F: Future<Output = Done<Report>> + Send + 'static>(
        &self,
        order: TaskOrder<'_>,
        work: impl FnOnce(Progress) -> F,
    ) -> Done<Task> {
        let (tenant, kind) = (order.tenant, order.kind);
        let heard = order.cancel.clone().unwrap_or_default();
        let (number, task) = self.enter(order)?;
        let shared = Arc::clone(&self.shared);
        shared.events.task(tenant, &task);
        metrics::gauge!("unforget_tasks_running", "kind" => kind).increment(1.0);
        let progress =
            Progress { shared: Arc::clone(&shared), number, told: Mutex::default(), cancel: heard };
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

    fn enter(&self, order: TaskOrder<'_>) -> Done<(u64, Task)> {
        let TaskOrder { tenant, kind, conversation, cancel } = order;
        let mut all = self.shared.all();
        if let Some(cancel) = cancel.as_ref().filter(|_| all.is_closed) {
            cancel.cancel();
        }
        let all = &mut all.by_number;
        let is_running = |kept: &Kept| kept.task.state == State::Running;
        if all.values().filter(|kept| is_running(kept)).count() >= RUNNING_MAX {
            let what = format!("{RUNNING_MAX} tasks run already");
            return Err(Problem::new(
                503,
                "busy",
                what,
                "wait for a task to end: GET /api/v1/tasks lists them",
            ));
        }
        if all.len() >= KEPT {
            let oldest = all.iter().find(|(_, kept)| !is_running(kept)).map(|(number, _)| *number);
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
        all.insert(number, Kept { tenant: Arc::clone(tenant), task: task.clone(), cancel });
        Ok((number, task))
    }

    /// The tasks of a tenant, newest first.
    fn of(&self, tenant: &str) -> Vec<Task> {
        let all = self.shared.all();
        let own = all.by_number.values().rev().filter(|kept| *kept.tenant == *tenant);
        own.map(|kept| kept.task.clone()).collect()
    }

    /// Asks a tenant's task to end. Its completed work stays. Has no effect on a completed task.
    fn end(&self, tenant: &str, name: &str) -> Done<Task> {
        let all = self.shared.all();
        let mut own = all.by_number.values().filter(|kept| *kept.tenant == *tenant);
        let kept = own.find(|kept| kept.task.task == name).ok_or_else(|| absent(name))?;
        match &kept.cancel {
            Some(cancel) => cancel.cancel(),
            None if kept.task.state == State::Running => {
                let what = format!("a task of the kind {} cannot end early", kept.task.kind);
                return Err(Problem::new(409, "runs-on", what, "wait for it"));
            }
            None => {}
        }
        Ok(kept.task.clone())
    }

    /// Asks all tasks that wait for models to end, present and future ones.
    pub(super) fn close(&self) {
        let mut all = self.shared.all();
        all.is_closed = true;
        all.by_number.values().filter_map(|kept| kept.cancel.as_ref()).for_each(Cancel::cancel);
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

/// Shows the state of a task.
#[utoipa::path(get, path = "/tasks/{task}", tag = "tasks", params(Called),
    responses((status = 200, description = "Done", body = Task), Problems))]
pub(super) async fn show(seen: Seen, At(called): At<Called>, headers: HeaderMap) -> Done<Response> {
    let tenant = seen.tenant.clone();
    seen.with(move |_, api| {
        let found = api.tasks.of(&tenant).into_iter().find(|task| task.task == called.task);
        Ok(Shown::new(&found.ok_or_else(|| absent(&called.task))?)?.answer(&headers))
    })
    .await
}

/// Asks a task that waits for models to end. Its completed work stays, and its result names the waiting rest; the task
/// may continue until its running call ends.
#[utoipa::path(delete, path = "/tasks/{task}", tag = "tasks", params(Called),
    responses((status = 200, description = "Done", body = Task), Problems))]
pub(super) async fn end(seen: Seen, At(called): At<Called>) -> Done<Response> {
    let tenant = seen.tenant.clone();
    seen.with(move |_, api| Ok(api.tasks.end(&tenant, &called.task)?.into_response())).await
}

fn absent(name: &str) -> Problem {
    Problem::absent("no-task", format!("there is no task {name}"), "GET /api/v1/tasks lists them")
}
