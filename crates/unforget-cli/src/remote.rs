//! A daemon that owns the database: commands let it write instead of writing themselves.

use std::fs::File;
use std::future::poll_fn;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::{Value, json};
use unforget_engine::Engine;
use unforget_server::serve::TOKEN;
use unforget_server::serve::beside::Beside;
use unforget_server::serve::runs::{DAEMON, DaemonJson, EndJson};

use crate::app::{App, show_progress};
use crate::database::Database;
use crate::failure::{Exit, Failure, Outcome};

/// Most bytes of an answer.
const ANSWER_MAX: u64 = 64 << 20;

/// Time limit for an answer of the daemon; longer work is a task.
const PATIENCE: Duration = Duration::from_mins(11);

/// Interval between looks at a task.
const LOOK: Duration = Duration::from_millis(100);

/// The exit code of a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// Known kinds of failures from the daemon; other kinds are reported as `daemon`.
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

/// The writer of the database.
pub(crate) enum Writer {
    /// This process.
    Here(Engine),
    /// The daemon that owns the database.
    There(Remote),
}

/// A file for the daemon.
pub(crate) struct SentFile {
    /// The contents.
    pub(crate) file: File,
    /// Its path, as [`unforget_engine::import::FileToSend`] spells it.
    pub(crate) name: String,
    /// Its modification time, 0 if unknown.
    pub(crate) modified_ns: i64,
}

/// A daemon.
pub(crate) struct Remote {
    beside: Beside,
    agent: ureq::Agent,
}

impl App {
    /// Opens the database for writing, here or through the daemon that owns it.
    ///
    /// # Errors
    /// The error of `open`, if no daemon can be reached.
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
    /// The writer of a database that exists: this process, or the daemon that owns it.
    ///
    /// # Errors
    /// That of opening it, if no daemon can be reached.
    pub(crate) fn of(db: &Database) -> Outcome<Self> {
        match db.open().map_err(Failure::from) {
            Ok(engine) => Ok(Self::Here(engine)),
            Err(failure) if failure.kind == "busy" => Remote::of(db).map(Self::There).ok_or(failure),
            Err(failure) => Err(failure),
        }
    }

    /// Opens the database for reading, including everything written before.
    pub(crate) fn reader(&self, app: &App) -> Outcome<Engine> {
        match self {
            Self::Here(engine) => Ok(engine.clone()),
            Self::There(_) => app.read(),
        }
    }
}

impl Remote {
    /// The daemon of this machine that has a database; `None` if none answers.
    pub(crate) fn of(db: &Database) -> Option<Self> {
        Self::beside(&db.local_path().ok()?)
    }

    /// The daemon whose address lies beside a path; `None` if none answers.
    ///
    /// * `db` - see [`Database::local_path`].
    pub(crate) fn beside(db: &Path) -> Option<Self> {
        let remote = Beside::read(db).map(Self::new);
        remote.filter(|remote| remote.call("GET", "config", None).is_ok())
    }

    /// Whether something answers where the daemon beside a path listens, whatever its answer.
    ///
    /// * `db` - see [`Database::local_path`].
    pub(crate) fn is_beside(db: &Path) -> bool {
        let Some(remote) = Beside::read(db).map(Self::new) else { return false };
        let request = remote.at("GET", "config").body(());
        request.is_ok_and(|request| remote.agent.run(request).is_ok())
    }

    /// Its address on this machine.
    pub(crate) fn url(&self) -> &str {
        &self.beside.url
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
        self.at_root(method, &format!("/api/v1/{path}"))
    }

    fn at_root(&self, method: &str, path: &str) -> ureq::http::request::Builder {
        ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.beside.url))
            .header(TOKEN, &self.beside.token)
    }

    /// The daemon itself.
    ///
    /// # Errors
    /// As of [`Self::call`].
    pub(crate) fn daemon(&self) -> Outcome<DaemonJson> {
        let request = self.at_root("GET", DAEMON).body(());
        shaped(read(self.agent.run(request.map_err(|error| unreached(&error))?))?)
    }

    /// Ends the daemon, and returns what it was.
    ///
    /// # Errors
    /// `usage` if commands use it and `is_forced` is false.
    pub(crate) fn end_daemon(&self, is_forced: bool) -> Outcome<DaemonJson> {
        let request =
            self.at_root("POST", &format!("{DAEMON}/end")).header("content-type", "application/json");
        let body = serde_json::to_string(&EndJson { force: is_forced })?;
        shaped(read(self.agent.run(request.body(body).map_err(|error| unreached(&error))?))?)
    }

    /// Calls a route.
    ///
    /// * `path` - below the API's root, with encoded segments.
    ///
    /// # Errors
    /// The daemon's problem; `daemon` if it gives none.
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

    /// Uploads a file for import, and waits for its completion.
    ///
    /// * `progress` - called with the completed and the total number of bytes.
    pub(crate) fn import(&self, sent: SentFile, progress: &mut dyn FnMut(u64, u64)) -> Outcome<Value> {
        let place = format!("imports?name={}&modified={}", encoded(&sent.name), sent.modified_ns);
        let request = self.at("POST", &place).header("content-type", "application/octet-stream");
        let request = request.body(sent.file).map_err(|error| unreached(&error))?;
        self.wait(&read(self.agent.run(request))?, progress)
    }

    /// Purges entries of a conversation.
    ///
    /// * `end` - the entry behind the last one.
    pub(crate) fn purge(&self, key: &str, first: u64, end: u64) -> Outcome<()> {
        let place = format!("conversations/{}/purge", encoded(key));
        let what = |token: &Value| json!({"first": first, "last": end - 1, "token": token});
        let token = field(&self.call("POST", &place, Some(&what(&Value::Null)))?, "token");
        self.call("POST", &place, Some(&what(&token)))?;
        Ok(())
    }

    /// Waits for the end of a task, and returns its result.
    pub(crate) fn wait(&self, task: &Value, progress: &mut dyn FnMut(u64, u64)) -> Outcome<Value> {
        self.wait_until(task, progress, &|| false)
    }

    /// Lets the daemon do work that can end early, and waits for it. The first Ctrl-C ends the work, whose result is
    /// then the part done so far. A second one ends this process and leaves the work to the daemon.
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
        let done = self.wait_until(&task, &mut |done, total| show_progress(bar, done, total), &is_enough);
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

/// Tells something at the first Ctrl-C, and ends this process then.
pub(crate) fn on_interrupt(tell: impl FnOnce() + Send + 'static) {
    at_interrupt(move || {
        tell();
        std::process::exit(INTERRUPTED);
    });
}

/// Whether Ctrl-C was pressed. From now on only a second Ctrl-C ends this process.
fn interrupts() -> Arc<AtomicBool> {
    let pressed = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&pressed);
    at_interrupt(move || heard.store(true, Ordering::Relaxed));
    pressed
}

/// Does something at the first Ctrl-C. A second one ends this process.
fn at_interrupt(act: impl FnOnce() + Send + 'static) {
    let (ready, hears) = std::sync::mpsc::channel();
    let listen = async move {
        let mut first = pin!(tokio::signal::ctrl_c());
        // Polls once, so that the handler is installed.
        let at_once = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
        ready.send(()).ok();
        // Without signals, only the end of the process ends the work.
        if at_once.is_ready() || first.await.is_err() {
            return;
        }
        act();
        tokio::signal::ctrl_c().await.ok();
        std::process::exit(INTERRUPTED);
    };
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        runtime.map(|runtime| runtime.block_on(listen))
    });
    hears.recv().ok();
}

/// The daemon's answer, in a type known to both sides.
pub(crate) fn shaped<T: serde::de::DeserializeOwned>(answer: Value) -> Outcome<T> {
    serde_json::from_value(answer).map_err(|error| unreached(&error))
}

/// A field of an object; null if it is missing.
pub(crate) fn field(object: &Value, name: &str) -> Value {
    object.get(name).cloned().unwrap_or_default()
}

/// A text field; empty for a missing field or another type.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A number field; 0 for a missing field or another type.
pub(crate) fn number(object: &Value, name: &str) -> u64 {
    object.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// Text as a path segment of an address.
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

/// The failure in the daemon's problem.
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
