//! A shell in tmux.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

use super::film::{COLUMNS, ROWS};
use super::screen::Screen;

/// Between two looks at the screen.
const LOOK: Duration = Duration::from_millis(40);
/// Equal looks in a row after which the screen is taken to be settled.
const LOOKS_EQUAL: usize = 8;
/// What a screen says while an answer is awaited.
const AWAITED: [&str; 2] = ["reading …", "playing: "];
/// How long a command may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A shell with a prompt that names no machine.
const SHELL: &str = r"PS1='\[\e[32m\]$\[\e[0m\] ' exec bash --norc --noprofile";

/// A tmux server of its own with one shell; it ends with this value.
pub(super) struct Terminal {
    socket: String,
}

impl Terminal {
    /// Starts a shell in `home`, which has the program in its folder `bin`.
    pub(super) fn open(home: &Path) -> anyhow::Result<Self> {
        let terminal = Self { socket: format!("unforget-record-{}", std::process::id()) };
        let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
        let path = format!("{}/bin:/usr/bin:/bin", home.display());
        let output = terminal
            .tmux()
            .env_clear()
            .env("HOME", home)
            .env("PATH", path)
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("TERM", "screen-256color")
            .args(["new-session", "-d", "-x", &columns, "-y", &rows, SHELL])
            .current_dir(home)
            .output()
            .context("starting tmux; `apt-get install tmux` brings one")?;
        passed(&output)?;
        terminal.settled()?;
        Ok(terminal)
    }

    /// Types characters.
    pub(super) fn send(&self, text: &str) -> anyhow::Result<()> {
        self.run(&["send-keys", "-l", "--", text]).map(drop)
    }

    /// Presses a key by its name in tmux.
    pub(super) fn press(&self, key: &str) -> anyhow::Result<()> {
        self.run(&["send-keys", key]).map(drop)
    }

    /// The screen, once it has stopped to change.
    pub(super) fn settled(&self) -> anyhow::Result<Screen> {
        let begin = Instant::now();
        let (mut last, mut equal) = (String::new(), 0);
        while begin.elapsed() < PATIENCE {
            let look = self.run(&["capture-pane", "-e", "-p", ";", "display-message", "-p", CURSOR])?;
            equal = if look == last { equal + 1 } else { 0 };
            last = look;
            if equal >= LOOKS_EQUAL && !AWAITED.iter().any(|words| last.contains(words)) {
                return Screen::read(&last).context("tmux says no place of the cursor");
            }
            std::thread::sleep(LOOK);
        }
        bail!("the screen still changes after {} s:\n{last}", PATIENCE.as_secs())
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-u", "-L", &self.socket, "-f", "/dev/null"]);
        command
    }

    fn run(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = self.tmux().args(arguments).output().context("starting tmux")?;
        passed(&output)?;
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// Prints column, row and visibility of the cursor as a last line.
const CURSOR: &str = "#{cursor_x} #{cursor_y} #{cursor_flag}";

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Err(error) = self.run(&["kill-server"]) {
            eprintln!("tmux did not end: {error}");
        }
    }
}

fn passed(output: &Output) -> anyhow::Result<()> {
    ensure!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
