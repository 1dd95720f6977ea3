//! `unforget tui` on a terminal: a pseudo-terminal that `script` makes.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support::{Place, binary, text};

/// How long the program has for what it should show.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program on a terminal of some size.
struct OnTerminal {
    child: Child,
    keys: Option<ChildStdin>,
    out: Receiver<Vec<u8>>,
    /// Everything that it wrote.
    seen: String,
}

impl OnTerminal {
    /// Starts `unforget` with some words; `None` where there is no `script`.
    fn start(place: &Place, words: &str, size: &str) -> Option<Self> {
        let command = format!("stty {size}; exec {} {words}", binary().display());
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(place.path("")).env_clear();
        script.env("HOME", place.path("")).env("UNFORGET_DB", place.path("store.sqlite"));
        script.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TERM", "xterm-256color");
        script.env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = script.spawn() else {
            eprintln!("skipped: there is no script(1), which makes a pseudo-terminal");
            return None;
        };
        let mut stdout = child.stdout.take().unwrap();
        let (tell, out) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                tell.send(bytes[..count].to_vec()).ok();
            }
        });
        let keys = child.stdin.take();
        Some(Self { child, keys, out, seen: String::new() })
    }

    fn press(&mut self, keys: &str) {
        let to = self.keys.as_mut().unwrap();
        to.write_all(keys.as_bytes()).and_then(|()| to.flush()).unwrap();
    }

    /// Waits for words in what is written from now on; answers where the terminal is asked for its cursor.
    fn sees(&mut self, words: &str) {
        let start = Instant::now();
        let mut new = String::new();
        while !new.contains(words) {
            let left = PATIENCE.checked_sub(start.elapsed());
            let more = left.and_then(|left| self.out.recv_timeout(left).ok());
            let more = text(&more.unwrap_or_else(|| panic!("no {words:?} in {new:?}")));
            if more.contains("\u{1b}[6n") {
                self.press("\u{1b}[1;1R");
            }
            new.push_str(&more);
            self.seen.push_str(&more);
        }
    }

    /// Waits for the end, and returns whether it ended well.
    fn ends(&mut self) -> bool {
        let is_well = self.child.wait().unwrap().success();
        while let Ok(more) = self.out.recv_timeout(PATIENCE) {
            self.seen.push_str(&text(&more));
        }
        is_well
    }
}

impl Drop for OnTerminal {
    /// A test that fails leaves nobody behind: the program ends with its terminal.
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_person_reads_searches_and_leaves() {
    let place = Place::imported();
    let Some(mut terminal) = OnTerminal::start(&place, "tui", "rows 40 cols 120") else { return };
    terminal.sees("conversations 2 of 2");
    terminal.press("/otters");
    terminal.sees("searched");
    terminal.press("\r");
    terminal.sees("Riverbend.");
    terminal.press("j");
    terminal.sees("␛[2J");
    terminal.press("c");
    terminal.sees("cover proved");
    terminal.press("?");
    terminal.sees("keys · jk");
    terminal.press("q");
    assert!(terminal.ends(), "{}", terminal.seen);
    let seen = &terminal.seen;
    assert!(seen.contains("\u{1b}[?1049h"), "it takes the terminal");
    let (_, behind) = seen.rsplit_once("\u{1b}[?1049l").expect("and gives it back");
    assert!(behind.contains("\u{1b}[?25h") && !behind.contains("Riverbend"), "{behind:?}");
    assert!(!seen.contains("Riverbend.\u{1b}[2J"), "what a model said clears nothing");
    let kept = std::fs::read_to_string(place.path(".local/state/unforget/tui.json")).unwrap();
    assert!(kept.contains("\"theme\":\"dark\"") && kept.contains("openai-chat:"), "{kept}");
}

#[test]
fn it_takes_some_lines_only_and_no_colours() {
    let place = Place::imported();
    let words = "tui --inline 8 --fresh --color never";
    let Some(mut terminal) = OnTerminal::start(&place, words, "rows 24 cols 80") else { return };
    terminal.sees("conversations 2 of 2");
    terminal.press("t");
    terminal.sees("theme: dark");
    terminal.press("q");
    assert!(terminal.ends(), "{}", terminal.seen);
    assert!(!terminal.seen.contains("\u{1b}[?1049h"), "the lines above stay");
    assert!(!place.path(".local/state/unforget/tui.json").exists(), "--fresh keeps nothing");
}

#[test]
fn a_program_is_told_what_to_use_instead() {
    let place = Place::imported();
    let failed = place.json(&["tui"], 2);
    assert_eq!(failed["error"]["kind"], "usage");
    let output = place.run(&["tui"], 2);
    assert!(text(&output.stderr).contains("needs a terminal"), "{}", text(&output.stderr));
}
