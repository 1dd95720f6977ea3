//! A daemon in a separate process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{Place, binary};

/// A daemon on the database of a place. Killed when it is dropped.
pub(crate) struct Daemon {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Daemon {
    pub(crate) fn start(place: &Place) -> Self {
        Self::with(place, &[])
    }

    /// Starts a daemon with more options.
    pub(crate) fn with(place: &Place, options: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command.current_dir(place.path("")).env_clear();
        command.env("HOME", place.path("")).env("UNFORGET_DB", place.path("store.sqlite"));
        command.args(["--json", "serve", "--listen", "127.0.0.1:0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        Self { child, url: told["url"].as_str().unwrap().to_owned() }
    }

    /// Asks the daemon to end, and waits for it.
    pub(crate) fn end(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }

    /// Kills the daemon.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
