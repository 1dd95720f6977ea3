//! A folder, a database in it, and the command.

#[cfg(unix)]
pub(crate) mod daemon;
#[cfg(target_os = "linux")]
pub(crate) mod equal_bodies;
pub(crate) mod models;

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tempfile::TempDir;
pub(crate) use unforget_testkit::transcripts::{PI, PI_KEY};

/// OpenAI Chat messages, one with a sequence that would clear a terminal.
pub(crate) const CHAT: &str = r#"[
  {"role":"system","content":"Be brief."},
  {"role":"user","content":"What is the capital of the otters?"},
  {"role":"assistant","content":"Riverbend.\u001b[2J"}
]
"#;

/// The lines of a transcript; an end of the last line is a line of its own.
pub(crate) fn lines(bytes: &[u8]) -> Vec<String> {
    std::str::from_utf8(bytes).unwrap().split('\n').map(str::to_owned).collect()
}

/// The messages of people, models and tools in a pi session or in the journal of its lane, byte for byte.
pub(crate) fn messages(bytes: &[u8]) -> Vec<String> {
    fn message(line: &str) -> Option<&RawValue> {
        serde_json::from_str::<MessageLine<'_>>(line).ok()?.message
    }
    let is_said = |message: &&RawValue| {
        let read: Value = serde_json::from_str(message.get()).unwrap();
        !matches!(read["role"].as_str(), Some("custom" | "compactionSummary"))
    };
    let lines = std::str::from_utf8(bytes).unwrap().lines();
    lines.filter_map(message).filter(is_said).map(|message| message.get().to_owned()).collect()
}

#[derive(Deserialize)]
struct MessageLine<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// The folder of a test.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    /// An empty folder.
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with both transcripts, imported.
    pub(crate) fn imported() -> Self {
        let place = Self::new();
        place.write("pi.jsonl", PI);
        place.write("chat.json", CHAT);
        place.run(&["import", "pi.jsonl", "chat.json", "-q"], 0);
        place
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The command, isolated from the user's own files.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(binary());
        self.confine(&mut command);
        command
    }

    fn confine(&self, command: &mut Command) {
        command.current_dir(self.folder.path()).env_clear();
        command.env("HOME", self.folder.path()).env("UNFORGET_DB", self.path("store.sqlite"));
        command.env("TMPDIR", self.folder.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    }

    /// Runs the command and checks the exit code.
    pub(crate) fn run(&self, args: &[&str], exit: i32) -> Output {
        let output = self.command().args(args).output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(exit), "unforget {args:?}\nstdout: {out}\nstderr: {err}");
        output
    }

    /// Runs a line of a shell that finds the command as `unforget`, and checks that it ends well.
    #[cfg(unix)]
    pub(crate) fn shell(&self, line: &str) -> Output {
        let mut command = Command::new("sh");
        self.confine(&mut command);
        let folder = binary().parent().unwrap().display();
        let path = std::env::var("PATH").unwrap_or_default();
        let output = command.env("PATH", format!("{folder}:{path}")).args(["-ec", line]).output().unwrap();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{line}\nstdout: {out}\nstderr: {err}");
        output
    }

    /// Runs the command with `--json` and parses each line of stdout.
    pub(crate) fn json_lines(&self, args: &[&str], exit: i32) -> Vec<Value> {
        let args: Vec<_> = args.iter().copied().chain(["--json"]).collect();
        let output = self.run(&args, exit);
        let lines = text(&output.stdout);
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{args:?}: {line}")))
            .collect()
    }

    /// Runs a command that prints one JSON value.
    pub(crate) fn json(&self, args: &[&str], exit: i32) -> Value {
        let mut lines = self.json_lines(args, exit);
        assert_eq!(lines.len(), 1, "{args:?}: {lines:?}");
        lines.remove(0)
    }
}

/// The binary under test.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_unforget"))
}

/// Output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The example that ships with the project.
pub(crate) fn example(name: &str) -> String {
    format!("{}/../../examples/{name}", env!("CARGO_MANIFEST_DIR"))
}
