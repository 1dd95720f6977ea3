//! A model behind a command that stays alive: a line of JSON on its standard input, a line of JSON on its standard output.
//!
//! In: `{"version":1,"texts":["…","…"]}`. Out: `{"vectors":[[…],[…]],"tokens":12}`, with a vector for each text in their
//! order; `tokens` may be absent. Or `{"error":{"cause":"rate-limited","message":"…"}}`, with a cause of
//! [`CAUSES`](crate::command::CAUSES).
//!
//! The command is started by the first text and kept. After a wrong answer, or none in time, it is killed, and started
//! again by the next text.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;

use super::answer::{self, AnswerForm, VectorAnswer};
use super::port::{Embedded, Embedder};
use crate::ASKED;
use crate::fault::{Account, Cause, Fault, detail};

/// Most bytes of a line of the answer.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// A model behind a command. No shell is involved; the command and what it starts are one process group, killed at the end.
pub struct CommandEmbedder {
    program: PathBuf,
    arguments: Vec<OsString>,
    account: Account,
    model: String,
    /// Those that wait for texts: one for what is asked, one for the background.
    idle: Mutex<Vec<Running>>,
}

/// Most commands that are kept.
const KEPT: usize = 2;

/// A started command.
struct Running {
    child: Child,
    group: Pid,
    /// Lines for the command; a thread writes them, since a command need not read.
    lines: SyncSender<Vec<u8>>,
    answers: Receiver<Line>,
}

/// What the command wrote.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

impl CommandEmbedder {
    /// A command with its arguments. `model` is the model's name.
    pub fn new(program: impl Into<PathBuf>, arguments: Vec<OsString>, model: impl Into<String>) -> Self {
        let program = program.into();
        let account =
            Account { provider: format!("command:{}", program.display()), credential: "none".to_owned() };
        Self { program, arguments, account, model: model.into(), idle: Mutex::new(Vec::new()) }
    }

    fn fault(&self, cause: Cause, said: &[u8]) -> Fault {
        let (account, model) = (Box::new(self.account.clone()), self.model.clone());
        Fault { cause, account, model, detail: detail(said, None) }
    }

    fn start(&self) -> std::io::Result<Running> {
        let mut child = std::process::Command::new(&self.program)
            .args(&self.arguments)
            .env(ASKED, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What it says beside its answers is for the person who set it up.
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let group = Pid::from_child(&child);
        // One line waits in each direction: a command that writes without being asked waits for us.
        let (lines, of_us) = sync_channel(1);
        let (of_it, answers) = sync_channel(1);
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        // From here on, dropping the value kills the command.
        let running = Running { child, group, lines, answers };
        if let (Some(stdin), Some(stdout)) = (stdin, stdout) {
            Builder::new().name("embed-in".into()).spawn(move || write(&of_us, stdin))?;
            Builder::new().name("embed-out".into()).spawn(move || read(stdout, &of_it))?;
        }
        Ok(running)
    }

    /// The answer of a running command, which is kept if there is a vector for each text.
    fn ask(
        &self,
        mut running: Running,
        line: &[u8],
        texts: usize,
        deadline: Instant,
    ) -> Result<Embedded, Fault> {
        // Whatever it wrote since its last answer is the answer to nothing.
        if running.answers.try_recv().is_ok() {
            let place = "a line before it was asked".to_owned();
            return Err(self.fault(Cause::BadAnswer { place }, b""));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let sent = running.lines.try_send(line.to_vec()).map_err(|error| match error {
            TrySendError::Disconnected(_) => RecvTimeoutError::Disconnected,
            // It does not read.
            TrySendError::Full(_) => RecvTimeoutError::Timeout,
        });
        let answer = match sent.and_then(|()| running.answers.recv_timeout(left)) {
            Ok(Line::Whole(answer)) => answer,
            Ok(Line::TooLong) => {
                return Err(self.fault(Cause::AnswerTooLarge { bytes_max: LINE_BYTES_MAX }, b""));
            }
            Err(RecvTimeoutError::Timeout) => return Err(self.fault(Cause::Timeout, b"")),
            Err(RecvTimeoutError::Disconnected) => {
                let exit = running.end();
                return Err(self.fault(Cause::Command { exit }, b"it ended without an answer"));
            }
        };
        let embedded = self.embedded(&answer, texts)?;
        let mut idle = self.idle();
        if embedded.vectors.len() == texts && idle.len() < KEPT {
            idle.push(running);
        }
        drop(idle);
        Ok(embedded)
    }

    fn embedded(&self, answer: &[u8], texts: usize) -> Result<Embedded, Fault> {
        let bad = |place: String| self.fault(Cause::BadAnswer { place }, b"");
        let VectorAnswer { vectors, tokens, error } =
            answer::read(answer, AnswerForm::Command, texts).map_err(bad)?;
        if let Some(error) = error {
            let wait = error.retry_after_ms.map(Duration::from_millis);
            return Err(self.fault(Cause::told(&error.cause, wait), error.message.as_bytes()));
        }
        let vectors = vectors.ok_or_else(|| bad("/vectors".to_owned()))?;
        Ok(Embedded { vectors: vectors.into_iter().map(|one| one.numbers).collect(), tokens })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Running>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes lines until nobody sends any, or the command ends.
fn write(lines: &Receiver<Vec<u8>>, mut stdin: ChildStdin) {
    while let Ok(line) = lines.recv() {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            break;
        }
    }
}

/// Reads lines until the command ends, nobody wants them, or one is too long.
fn read(stdout: ChildStdout, answers: &SyncSender<Line>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let read = stdout.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
        let is_long = line.len() as u64 > LINE_BYTES_MAX;
        if line.is_empty() || read.is_err() {
            break;
        }
        let line = if is_long { Line::TooLong } else { Line::Whole(line) };
        if answers.send(line).is_err() || is_long {
            break;
        }
    }
}

impl Running {
    /// Kills what is left of the command; the exit code, if it had ended by itself.
    fn end(&mut self) -> Option<i32> {
        _ = kill_process_group(self.group, Signal::KILL);
        self.child.wait().ok().and_then(|status| status.code())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Embedder for CommandEmbedder {
    fn account(&self) -> &Account {
        &self.account
    }

    fn name(&self) -> &str {
        &self.model
    }

    fn embed(&self, texts: &[&str], within: Duration) -> Result<Embedded, Fault> {
        let deadline = Instant::now() + within;
        let mut line = serde_json::to_vec(&json!({"version": 1, "texts": texts}))
            .map_err(|_| self.fault(Cause::Invalid, b""))?;
        line.push(b'\n');
        // Taken out, so that it is killed unless it answers, and nobody waits for the answer to another.
        let idle = self.idle().pop();
        if let Some(running) = idle {
            match self.ask(running, &line, texts.len(), deadline) {
                // It had ended since its last answer.
                Err(Fault { cause: Cause::Command { .. }, .. }) => {}
                answered => return answered,
            }
        }
        let started = self.start();
        let running = started.map_err(|error| self.fault(Cause::NotStarted, error.to_string().as_bytes()))?;
        self.ask(running, &line, texts.len(), deadline)
    }
}
