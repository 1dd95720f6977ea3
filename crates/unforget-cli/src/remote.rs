//! A daemon that owns the database: what a command would write, it writes.

use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::Value;
use unforget_engine::Engine;
use unforget_server::serve::TOKEN;
use unforget_server::serve::beside::Beside;

use crate::app::App;
use crate::commands::jobs;
use crate::failure::{Exit, Failure, Outcome};

/// Bytes of an answer at most.
const ANSWER_MAX: u64 = 64 << 20;

/// How long the daemon may take to answer; what takes longer is a task.
const PATIENCE: Duration = Duration::from_mins(11);

/// How often a task is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// The exit code of a process that Ctrl-C ends.
const INTERRUPTED: i32 = 130;

/// Kinds of failures that the daemon tells; others are told as `daemon`.
const KINDS: [&str; 18] = [
    "usage",
    "no-conversation",
    "ambiguous",
    "file",
    "not-a-transcript",
    "irreducible",
    "busy",
    "full",
    "damaged",
    "moved",
    "read-only",
    "index",
    "store",
    "engine",
    "no-pin",
    "no-model",
    "plan-changed",
    "too-large",
];

/// Who writes.
pub(crate) enum Writer {
    /// This process.
    Here(Engine),
    /// The daemon that owns the database.
    There(Remote),
}

/// A daemon.
pub(crate) struct Remote {
    beside: Beside,
    agent: ureq::Agent,
}

impl App {
    /// The database for writing, here or by the daemon that owns it.
    ///
    /// # Errors
    /// That of `open`, if no daemon can be reached.
    pub(crate) fn writer(&self, open: impl FnOnce(&Self) -> Outcome<Engine>) -> Outcome<Writer> {
        match open(self) {
            Ok(engine) => Ok(Writer::Here(engine)),
            Err(failure) if failure.kind == "busy" => {
                Remote::of(&self.settings.db.value).map(Writer::There).ok_or(failure)
            }
            Err(failure) => Err(failure),
        }
    }
}

impl Writer {
    /// The database for reading; what was written before is there.
    pub(crate) fn reader(&self, app: &App) -> Outcome<Engine> {
        match self {
            Self::Here(engine) => Ok(engine.clone()),
            Self::There(_) => app.read(),
        }
    }
}

impl Remote {
    /// The daemon that owns a database; `None` if none answers.
    pub(crate) fn of(db: &Path) -> Option<Self> {
        let remote = Beside::read(db).map(Self::new);
        remote.filter(|remote| remote.call("GET", "config", None).is_ok())
    }

    fn new(beside: Beside) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .proxy(None)
            .max_redirects(0)
            .build();
        Self { beside, agent: agent.into() }
    }

    fn at(&self, method: &str, path: &str) -> ureq::http::request::Builder {
        ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/api/v1/{path}", self.beside.url))
            .header(TOKEN, &self.beside.token)
    }

    /// Calls a route.
    ///
    /// * `path` - under the API's root, parts of it encoded.
    ///
    /// # Errors
    /// What the daemon says; `daemon` if it says nothing.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Outcome<Value> {
        let request = self.at(method, path);
        let answer = match body {
            Some(body) => {
                let text = serde_json::to_string(body)?;
                let request = request.header("content-type", "application/json").body(text);
                self.agent.run(request.map_err(|error| unreached(&error))?)
            }
            None => self.agent.run(request.body(()).map_err(|error| unreached(&error))?),
        };
        read(answer)
    }

    /// Sends a file to be imported, and waits until it is.
    ///
    /// * `progress` - bytes done, of how many.
    pub(crate) fn import(&self, path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Outcome<Value> {
        let failed = |error: io::Error| Failure::file(path, &error);
        let file = File::open(path).map_err(failed)?;
        let name = std::path::absolute(path).map_err(failed)?;
        let place = format!("imports?name={}", encoded(&name.display().to_string()));
        let request = self.at("POST", &place).header("content-type", "application/octet-stream");
        let request = request.body(file).map_err(|error| unreached(&error))?;
        self.wait(&read(self.agent.run(request))?, progress)
    }

    /// Waits for a task to end, and gives its result.
    pub(crate) fn wait(&self, task: &Value, progress: &mut dyn FnMut(u64, u64)) -> Outcome<Value> {
        self.wait_until(task, progress, &|| false)
    }

    /// Has the daemon do what can end early, and waits: Ctrl-C ends it, and its result is what was done by then; a second one
    /// ends this process and leaves it to the daemon.
    ///
    /// * `path` - of a route that begins a task.
    pub(crate) fn work(&self, path: &str, bar: &ProgressBar) -> Outcome<Value> {
        let pressed = interrupts();
        let task = self.call("POST", path, None)?;
        let is_enough = || {
            let is_pressed = pressed.swap(false, Ordering::Relaxed);
            if is_pressed {
                bar.set_message("ends after this call");
            }
            is_pressed
        };
        let done = self.wait_until(&task, &mut |done, total| jobs::at(bar, done, total), &is_enough);
        bar.finish_and_clear();
        done
    }

    fn wait_until(
        &self,
        task: &Value,
        progress: &mut dyn FnMut(u64, u64),
        is_enough: &dyn Fn() -> bool,
    ) -> Outcome<Value> {
        let place = format!("tasks/{}", encoded(text(task, "task")));
        loop {
            if is_enough() {
                self.call("DELETE", &place, None)?;
            }
            let now = self.call("GET", &place, None)?;
            match text(&now, "state") {
                "running" => {}
                "done" => return Ok(field(&now, "result")),
                _ => return Err(problem(&field(&now, "problem"))),
            }
            progress(number(&now, "done"), number(&now, "total"));
            std::thread::sleep(LOOK);
        }
    }
}

/// Whether Ctrl-C was pressed. It ends this process no more but at the second time.
fn interrupts() -> Arc<AtomicBool> {
    let pressed = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&pressed);
    let (ready, hears) = std::sync::mpsc::channel();
    let listen = async move {
        let mut first = pin!(tokio::signal::ctrl_c());
        // It hears from the first time on that it is asked.
        let at_once = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
        ready.send(()).ok();
        // Without signals only the end of the process ends it.
        if at_once.is_ready() || first.await.is_err() {
            return;
        }
        heard.store(true, Ordering::Relaxed);
        tokio::signal::ctrl_c().await.ok();
        std::process::exit(INTERRUPTED);
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.map(|runtime| runtime.block_on(listen))
    });
    hears.recv().ok();
    pressed
}

/// What the daemon answered, in a shape that both sides know.
pub(crate) fn shaped<T: serde::de::DeserializeOwned>(answer: Value) -> Outcome<T> {
    serde_json::from_value(answer).map_err(|error| unreached(&error))
}

/// A field of an object, null if it has none.
pub(crate) fn field(object: &Value, name: &str) -> Value {
    object.get(name).cloned().unwrap_or_default()
}

/// A field that is text, empty if it is none.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A field that is a number, 0 if it is none.
pub(crate) fn number(object: &Value, name: &str) -> u64 {
    object.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// Text as a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Outcome<Value> {
    let answer = answer.map_err(|error| unreached(&error))?;
    let is_done = answer.status().is_success();
    let bytes = answer.into_body().into_with_config().limit(ANSWER_MAX).read_to_vec();
    let value: Value = serde_json::from_slice(&bytes.map_err(|error| unreached(&error))?)?;
    if is_done { Ok(value) } else { Err(problem(&value)) }
}

/// What the daemon says was wrong.
fn problem(problem: &Value) -> Failure {
    let kind = KINDS.into_iter().find(|kind| *kind == text(problem, "kind")).unwrap_or("daemon");
    let exit = match number(problem, "status") {
        400 | 403 | 404 | 409 | 412 => Exit::Usage,
        413 | 415 | 422 => Exit::Input,
        _ => Exit::Store,
    };
    Failure {
        kind,
        message: text(problem, "detail").to_owned(),
        hint: text(problem, "next").to_owned(),
        exit,
    }
}

fn unreached(error: &dyn std::fmt::Display) -> Failure {
    Failure {
        kind: "daemon",
        message: format!("the daemon that owns the database does not answer: {error}"),
        hint: "look at its log, or end it and run the command again".to_owned(),
        exit: Exit::Store,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_table() {
        let table = [
            ("pi:1", "pi%3A1", "a key"),
            ("a/b c", "a%2Fb%20c", "what would be another part"),
            ("ü", "%C3%BC", "beyond ASCII"),
            ("..", "..", "an upload's name, not a path"),
        ];
        for (text, want, why) in table {
            assert_eq!(encoded(text), want, "{why}");
        }
    }

    #[test]
    fn what_a_daemon_says_is_a_failure_of_ours() {
        let told = json!({"kind": "no-conversation", "status": 404, "detail": "no x", "next": "look"});
        let failure = problem(&told);
        assert_eq!((failure.kind, failure.exit), ("no-conversation", Exit::Usage));
        assert_eq!((failure.message.as_str(), failure.hint.as_str()), ("no x", "look"));
        assert_eq!(problem(&json!({"kind": "new", "status": 500})).kind, "daemon");
        assert_eq!(problem(&Value::Null).exit, Exit::Store);
    }
}
