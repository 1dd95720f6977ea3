//! The recordings in the documents: the current program at work in a terminal, as pictures that move.
//!
//! The program runs in tmux, under a home of its own with invented transcripts. Each screen is captured with its
//! colours, and all screens become one SVG. How long a screen stands is said by the script below and not by a clock, so
//! that a slow machine makes the same recording.

mod film;
mod histories;
mod screen;
mod terminal;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::workspace;
use film::Film;
use terminal::Terminal;

/// Bytes that a recording may have.
const BYTES_MAX: usize = 300_000;
/// How long a screen with typed characters stands.
const TYPED_MS: u32 = 70;
/// Characters typed from one screen to the next.
const TYPED_TOGETHER: usize = 3;

/// Something that a person at the terminal does.
enum Act {
    /// Types a command and waits for its end; its result stands for so many milliseconds.
    Run(&'static str, u32),
    /// As `Run`; the result is also what a viewer without animation shows.
    Poster(&'static str, u32),
    /// Types characters without Enter; the result stands for so many milliseconds.
    Type(&'static str, u32),
    /// Presses a key; the result stands for so many milliseconds.
    Press(&'static str, u32),
    /// As `Press`; the result is also what a viewer without animation shows.
    PressPoster(&'static str, u32),
    /// An empty screen.
    Clear,
}

/// A recording.
struct Recording {
    /// Its place in the repository.
    place: &'static str,
    script: &'static [Act],
}

const RECORDINGS: [Recording; 2] = [
    Recording { place: "docs/recording.svg", script: &COMMANDS },
    Recording { place: "docs/tui.svg", script: &TUI },
];

/// The commands: for the README.
const COMMANDS: [Act; 17] = [
    Act::Run("unforget import --discover --yes | tail -n 1", 2_200),
    Act::Run("unforget list", 3_200),
    Act::Clear,
    Act::Poster("unforget search 'which port does staging use' -n 6", 4_500),
    Act::Clear,
    Act::Run("unforget ledger --file ingest.py -n 4", 3_000),
    Act::Clear,
    Act::Run("unforget", 1_600),
    Act::Type("rye", 1_600),
    Act::Press("Enter", 4_000),
    Act::Press("q", 700),
    Act::Press("Escape", 200),
    Act::Press("Escape", 700),
    Act::Clear,
    Act::Run("unforget resume 6f1c --print", 2_500),
    Act::Run("unforget export 6f1c -o rye.jsonl", 1_500),
    Act::Run("cmp rye.jsonl .claude/projects/*bakery*/6f1c*.jsonl && echo 'the same bytes'", 3_000),
];

/// The terminal interface: for its page.
const TUI: [Act; 19] = [
    Act::Run("unforget import --discover --yes | tail -n 1", 1_200),
    Act::Clear,
    Act::Run("unforget tui --window 32k", 2_500),
    Act::Press("/", 500),
    Act::Type("retry", 2_500),
    Act::Press("Enter", 3_000),
    Act::PressPoster("c", 3_500),
    Act::Press("[", 3_000),
    Act::Press("p", 3_000),
    Act::Press("d", 3_000),
    Act::Press("x", 3_500),
    Act::Press("Escape", 1_000),
    Act::Press("f", 3_000),
    Act::Press("Escape", 700),
    Act::Press("1", 1_500),
    Act::Press("0", 1_000),
    Act::Press("?", 3_000),
    Act::Press("?", 700),
    Act::Press("q", 1_500),
];

/// Writes the recordings. Needs tmux and a shell, and no network.
///
/// * `program` - the program to record; without it the current one is built.
///
/// # Errors
/// If tmux or the program fails, or a recording is too large.
pub(crate) fn write(program: Option<&str>) -> anyhow::Result<()> {
    let root = workspace::root();
    let program = program.map_or_else(|| build(&root), |given| Ok(PathBuf::from(given)))?;
    for Recording { place, script } in &RECORDINGS {
        let home = Home::new(&root, &program)?;
        let film = play(&home.folder, script)?;
        let picture = film.svg();
        ensure!(picture.len() <= BYTES_MAX, "{place} has {} bytes, {BYTES_MAX} are allowed", picture.len());
        std::fs::write(root.join(place), &picture)?;
        println!("{place}: {} bytes, {} s", picture.len(), film.duration_ms() / 1000);
    }
    Ok(())
}

fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let status = Command::new("cargo")
        .args(["build", "--release", "-q", "-p", "unforget-cli"])
        .current_dir(root)
        .status()
        .context("starting cargo")?;
    ensure!(status.success(), "the program does not build");
    Ok(root.join("target/release/unforget"))
}

/// A home folder with invented transcripts and the program; it is removed in the end.
struct Home {
    folder: PathBuf,
}

impl Home {
    fn new(root: &Path, program: &Path) -> anyhow::Result<Self> {
        let folder = std::env::temp_dir().join("mara");
        // Not shared with anybody: a folder that is there already is an error.
        std::fs::create_dir(&folder)
            .with_context(|| format!("creating {}; remove what is there", folder.display()))?;
        let home = Self { folder };
        let bin = home.folder.join("bin");
        std::fs::create_dir(&bin)?;
        std::fs::copy(program, bin.join("unforget"))
            .with_context(|| format!("copying {}", program.display()))?;
        for (path, text) in histories::all(root)? {
            let path = home.folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(&home.folder))?;
            std::fs::write(path, text)?;
        }
        Ok(home)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("{} is left over: {error}", self.folder.display());
        }
    }
}

/// Carries a script out and keeps what the screen showed.
fn play(home: &Path, script: &[Act]) -> anyhow::Result<Film> {
    let terminal = Terminal::open(home)?;
    let mut film = Film::default();
    for act in script {
        match act {
            Act::Run(command, stands) | Act::Poster(command, stands) => {
                type_in(&terminal, &mut film, command)?;
                terminal.press("Enter")?;
                film.add(terminal.settled()?, *stands);
                if matches!(act, Act::Poster(..)) {
                    film.mark_poster();
                }
            }
            Act::Type(text, stands) => {
                type_in(&terminal, &mut film, text)?;
                film.add(terminal.settled()?, *stands);
            }
            Act::Press(key, stands) | Act::PressPoster(key, stands) => {
                terminal.press(key)?;
                film.add(terminal.settled()?, *stands);
                if matches!(act, Act::PressPoster(..)) {
                    film.mark_poster();
                }
            }
            Act::Clear => {
                terminal.press("C-l")?;
                film.add(terminal.settled()?, 300);
            }
        }
    }
    Ok(film)
}

fn type_in(terminal: &Terminal, film: &mut Film, text: &str) -> anyhow::Result<()> {
    let characters: Vec<char> = text.chars().collect();
    for piece in characters.chunks(TYPED_TOGETHER) {
        terminal.send(&piece.iter().collect::<String>())?;
        film.add(terminal.settled()?, TYPED_MS);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_recordings_stand_alone() {
        for Recording { place, .. } in &RECORDINGS {
            let picture = std::fs::read_to_string(workspace::root().join(place)).unwrap();
            assert!(picture.len() <= BYTES_MAX, "{place}: {} bytes", picture.len());
            let outside = picture.replace("http://www.w3.org/2000/svg", "");
            for word in ["http", "url(", "@import", "<script", "<image", "foreignObject"] {
                assert!(!outside.contains(word), "{place}: {word}");
            }
            assert_eq!(picture.matches("<g").count(), picture.matches("</g>").count(), "{place}");
        }
    }
}
