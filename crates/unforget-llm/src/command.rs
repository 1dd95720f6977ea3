//! A model behind an external command: JSON on its standard input, JSON on its standard output.
//!
//! In: `{"version":1,"system":…,"user":…,"max_output_tokens":…,"within_ms":…,"temperature":…}` (no temperature
//! unless one is asked for), then the end of the input.
//!
//! Out, with exit code 0: `{"text":…,"stop":"end","usage":{"input":…,"output":…,"cached":…},"model":…}`; all but
//! `text` may be absent. `stop` is a name of [`Stop`].
//!
//! Or, with any exit code: `{"error":{"cause":"rate-limited","retry_after_ms":…,"message":…}}`, with a cause of
//! [`CAUSES`]. Anything else is a fault.

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde_json::{Value, json};

use crate::ASKED;
use crate::fault::{Account, Cause, Fault, detail};
use crate::port::{Answer, Model, Request, Stop, Usage, answer};

/// The causes that a command may name.
pub const CAUSES: [&str; 9] =
    ["auth", "payment", "rate-limited", "overloaded", "server", "too-long", "not-found", "policy", "invalid"];

/// Bytes kept of the standard error.
const SAID_BYTES: usize = 4 << 10;

/// A model behind an external command.
///
/// The command runs in a process group of its own, with our environment. The group is killed when the command ends and
/// when the call's time is over. A process that leaves the group is not tracked. No shell is involved.
#[derive(Clone, Debug)]
pub struct Command {
    program: PathBuf,
    arguments: Vec<OsString>,
    account: Account,
    model: String,
    answer_bytes_max: u64,
}

impl Command {
    /// A command with its arguments. `model` is its name in reports.
    pub fn new(program: impl Into<PathBuf>, arguments: Vec<OsString>, model: impl Into<String>) -> Self {
        let program = program.into();
        let account =
            Account { provider: format!("command:{}", program.display()), credential: "none".to_owned() };
        Self { program, arguments, account, model: model.into(), answer_bytes_max: 4 << 20 }
    }

    /// This command with a limit for the bytes read of an answer.
    #[must_use]
    pub fn with_answer_bytes_max(mut self, bytes: u64) -> Self {
        self.answer_bytes_max = bytes;
        self
    }

    fn fault(&self, cause: Cause, said: &[u8]) -> Fault {
        let (account, model) = (Box::new(self.account.clone()), self.model.clone());
        Fault { cause, account, model, detail: detail(said, None) }
    }

    fn input(request: &Request<'_>) -> Value {
        let mut input = json!({
            "version": 1,
            "system": request.system,
            "user": request.user,
            "max_output_tokens": request.output_tokens_max,
            "within_ms": u64::try_from(request.within.as_millis()).unwrap_or(u64::MAX),
        });
        if let (Some(fields), Some(temperature)) = (input.as_object_mut(), request.temperature) {
            fields.insert("temperature".to_owned(), json!(temperature));
        }
        input
    }

    /// Starts the threads that feed the command, read its output and wait for its end. Each reports its observations.
    fn attend(&self, child: &mut Child, input: Vec<u8>, pid: Pid) -> std::io::Result<Receiver<Seen>> {
        let (send, receive) = channel();
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Builder::new().name("command-in".into()).spawn(move || {
            // A command need not read all of its input.
            drop(stdin.map(|mut stdin| stdin.write_all(&input)));
        })?;
        let (to, limit) = (send.clone(), self.answer_bytes_max);
        Builder::new().name("command-out".into()).spawn(move || {
            let mut bytes = Vec::new();
            drop(stdout.map(|stdout| stdout.take(limit.saturating_add(1)).read_to_end(&mut bytes)));
            tell(&to, Seen::Out(bytes));
        })?;
        let to = send.clone();
        Builder::new().name("command-err".into()).spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stderr) = stderr {
                drop(stderr.by_ref().take(SAID_BYTES as u64).read_to_end(&mut bytes));
                // The rest is read too, otherwise the command would wait for a reader.
                drop(std::io::copy(&mut stderr, &mut std::io::sink()));
            }
            tell(&to, Seen::Err(bytes));
        })?;
        Builder::new().name("command-end".into()).spawn(move || {
            // Leaves the dead process unreaped, so that its id still names the group when the group is killed.
            _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            tell(&send, Seen::End);
        })?;
        Ok(receive)
    }

    fn read(&self, status: Option<ExitStatus>, out: &[u8], said: &[u8]) -> Result<Answer, Fault> {
        let value: Result<Value, _> = serde_json::from_slice(out);
        if let Some(error) = value.as_ref().ok().and_then(|value| value.get("error")) {
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            return Err(self.fault(told_cause(error), message.as_bytes()));
        }
        if !status.is_some_and(|status| status.success()) {
            return Err(self.fault(Cause::Command { exit: status.and_then(|status| status.code()) }, said));
        }
        let value = value.map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            self.fault(Cause::BadAnswer { place }, out)
        })?;
        let text = value.get("text").and_then(Value::as_str);
        let text = text.ok_or_else(|| self.fault(Cause::BadAnswer { place: "/text".to_owned() }, out))?;
        let count = |name: &str| value.get("usage")?.get(name)?.as_u64();
        let usage = Usage { input: count("input"), output: count("output"), cached: count("cached") };
        let told = value.get("stop").and_then(Value::as_str).map_or(Stop::End, Stop::of);
        let model = value.get("model").and_then(Value::as_str).map(str::to_owned);
        Ok(answer(text, false, told, usage, model))
    }
}

/// An observation of a thread.
enum Seen {
    Out(Vec<u8>),
    Err(Vec<u8>),
    End,
}

/// Sends an observation. Nobody listens once the call has ended.
fn tell(to: &Sender<Seen>, seen: Seen) {
    drop(to.send(seen));
}

/// All observations.
#[derive(Default)]
struct Gathered {
    out: Option<Vec<u8>>,
    said: Option<Vec<u8>>,
    ended: bool,
}

/// Waits until the command has ended and all of its output is read, or until `deadline`, or until the output exceeds
/// `limit`. Processes left in its group are killed as soon as it has ended.
fn gather(seen: &Receiver<Seen>, deadline: Instant, pid: Pid, limit: u64) -> Gathered {
    let mut gathered = Gathered::default();
    while gathered.out.is_none() || gathered.said.is_none() || !gathered.ended {
        match seen.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Seen::Out(bytes)) => {
                let is_over = bytes.len() as u64 > limit;
                gathered.out = Some(bytes);
                if is_over {
                    break;
                }
            }
            Ok(Seen::Err(bytes)) => gathered.said = Some(bytes),
            Ok(Seen::End) => {
                gathered.ended = true;
                _ = kill_process_group(pid, Signal::KILL);
            }
            Err(_) => break,
        }
    }
    gathered
}

fn told_cause(error: &Value) -> Cause {
    let wait = error.get("retry_after_ms").and_then(Value::as_u64).map(Duration::from_millis);
    Cause::told(error.get("cause").and_then(Value::as_str).unwrap_or_default(), wait)
}

impl Model for Command {
    fn account(&self) -> &Account {
        &self.account
    }

    fn name(&self) -> &str {
        &self.model
    }

    fn call(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        let deadline = Instant::now() + request.within;
        let input = serde_json::to_vec(&Self::input(request)).map_err(|_| self.fault(Cause::Invalid, b""))?;
        let started = std::process::Command::new(&self.program)
            .args(&self.arguments)
            .env(ASKED, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child =
            started.map_err(|error| self.fault(Cause::NotStarted, error.to_string().as_bytes()))?;
        let pid = Pid::from_child(&child);
        let gathered = self
            .attend(&mut child, input, pid)
            .map(|seen| gather(&seen, deadline, pid, self.answer_bytes_max));
        _ = kill_process_group(pid, Signal::KILL);
        let status = child.wait().ok();
        let gathered =
            gathered.map_err(|error| self.fault(Cause::NotStarted, error.to_string().as_bytes()))?;
        let said = gathered.said.unwrap_or_default();
        match gathered.out {
            Some(out) if out.len() as u64 > self.answer_bytes_max => {
                Err(self.fault(Cause::AnswerTooLarge { bytes_max: self.answer_bytes_max }, &said))
            }
            Some(out) if gathered.ended => self.read(status, &out, &said),
            _ => Err(self.fault(Cause::Timeout, &said)),
        }
    }
}
