//! A host that waits for every answer.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::super::timed;
use crate::failure::{Exit, Failure, Outcome};

/// An engine in a separate process.
pub(super) struct RpcClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl RpcClient {
    /// Starts this program's engine on a database.
    pub(super) fn start(db: &Path) -> Outcome<Self> {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program)
            .args(["engine", "--stdio", "--db"])
            .arg(db)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("the engine has no pipes"));
        };
        Ok(Self { child, input, output: BufReader::with_capacity(1 << 20, output), next: 0 })
    }

    /// Sends a call and waits for its answer.
    pub(super) fn call(&mut self, method: &str, params: &str) -> Outcome<Value> {
        Ok(self.timed(method, params)?.0)
    }

    /// Sends a call, and measures from the first byte sent to the last byte received, in microseconds.
    pub(super) fn timed(&mut self, method: &str, params: &str) -> Outcome<(Value, u64)> {
        self.next += 1;
        let line =
            format!(r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{params}}}"#, self.next) + "\n";
        let mut answer = String::new();
        let (done, us) = timed(|| {
            self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush())?;
            self.output.read_line(&mut answer)
        });
        done?;
        let mut answer: Value = serde_json::from_str(&answer)?;
        match answer.get_mut("result") {
            Some(result) => Ok((result.take(), us)),
            None => Err(failed(&format!("{method}: {answer}"))),
        }
    }

    /// Resets the engine's peak of memory; returns its present memory.
    pub(super) fn forget_peak(&self) -> Option<u64> {
        std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5").ok();
        self.peak()
    }

    /// Its peak of memory since then, in bytes.
    pub(super) fn peak(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(kilobytes * 1024)
    }

    /// Waits for its end.
    pub(super) fn end(mut self) -> Outcome<()> {
        drop(self.input);
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(failed(&format!("the engine ended with {status}"))) }
    }
}

fn failed(message: &str) -> Failure {
    Failure { kind: "bench", message: message.to_owned(), hint: String::new(), exit: Exit::Problems }
}
