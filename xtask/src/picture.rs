//! The picture of a replay and the report below it in `docs/replay.md`, both made by the current program.
//!
//! The picture carries its report as a text chunk. A check needs no browser: it compares the chunk with the page, and
//! a test of the command line compares the page with the program.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::tidy::Problem;
use crate::workspace;

const PAGE: &str = "docs/replay.md";
const PICTURE: &str = "docs/replay.png";
const BLOCK_START: &str = "```text\nReplay of ";
const BLOCK_END: &str = "```\n";
const REPLAY: [&str; 4] = ["replay", "examples/long-session.jsonl", "--window", "32k"];
const BROWSERS: [&str; 3] = ["chromium", "google-chrome", "chromium-browser"];
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Keyword, no compression, no language and no translated keyword.
const TEXT_HEAD: &[u8] = b"Description\0\0\0\0\0";

/// Writes the picture and the report below it. Needs Chromium or Chrome.
///
/// * `program` - the program that replays; without it the current one is built.
///
/// # Errors
/// If the program or the browser fails.
pub(crate) fn write(program: Option<&str>) -> anyhow::Result<()> {
    let root = workspace::root();
    let html = root.join("target/replay.html");
    let report = replay(program, &root, &html)?;
    let text = std::fs::read_to_string(root.join(PAGE))?;
    let old =
        block(&text).with_context(|| format!("{PAGE} has no block that starts with {BLOCK_START:?}"))?;
    let new = text.replacen(old, &report, 1);
    let shot = root.join("target/replay.png");
    photograph(&html, &shot)?;
    let picture = with_text(&std::fs::read(&shot)?, &figures(&report)).context("the browser made no PNG")?;
    std::fs::write(root.join(PICTURE), picture)?;
    std::fs::write(root.join(PAGE), new)?;
    println!("{PICTURE} and the report in {PAGE} are current");
    Ok(())
}

/// Compares the figures in the picture with those in the page.
pub(crate) fn check() -> Vec<Problem> {
    let root = workspace::root();
    let text = std::fs::read_to_string(root.join(PAGE)).unwrap_or_default();
    let picture = std::fs::read(root.join(PICTURE)).unwrap_or_default();
    let problem = match (block(&text), text_of(&picture)) {
        (None, _) => format!("{PAGE}: no block starts with {BLOCK_START:?}"),
        (_, None) => format!("{PICTURE}: not made by `cargo xtask picture`"),
        (Some(report), Some(text)) if figures(report) != text => {
            format!("{PICTURE}: shows other figures than {PAGE}; run `cargo xtask picture`")
        }
        _ => return Vec::new(),
    };
    vec![problem]
}

/// The report of a replay on standard output; the page is written to `page`.
fn replay(program: Option<&str>, root: &Path, page: &Path) -> anyhow::Result<String> {
    let mut command = Command::new(program.unwrap_or("cargo"));
    if program.is_none() {
        command.args(["run", "--release", "-q", "-p", "unforget-cli", "--"]);
    }
    let output = command
        .args(REPLAY)
        .arg("--html")
        .arg(page)
        .current_dir(root)
        .output()
        .context("starting the program")?;
    ensure!(output.status.success(), "replay: {}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout)?;
    // The last line names the page.
    let report = printed.rsplit_once("\nreport: ").map_or(printed.as_str(), |(report, _)| report);
    Ok(report.to_owned())
}

fn photograph(page: &Path, shot: &Path) -> anyhow::Result<()> {
    for browser in BROWSERS {
        let run = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,905"])
            .arg(format!("--screenshot={}", shot.display()))
            .arg(page)
            .output();
        if let Ok(output) = run {
            ensure!(output.status.success(), "{browser}: {}", String::from_utf8_lossy(&output.stderr));
            return Ok(());
        }
    }
    anyhow::bail!("none of {BROWSERS:?} is installed; `apt-get install chromium` brings one")
}

/// The report in the page, without its fences.
fn block(page: &str) -> Option<&str> {
    let start = page.find(BLOCK_START)? + BLOCK_START.find('\n')? + 1;
    let rest = page.get(start..)?;
    rest.get(..rest.find(BLOCK_END)?)
}

/// The report without its times, which differ between two runs.
fn figures(report: &str) -> String {
    let kept: Vec<&str> = report.lines().filter(|line| !line.starts_with("time ")).collect();
    kept.join("\n")
}

/// A PNG with a text chunk before its end; `None` for anything else.
fn with_text(png: &[u8], text: &str) -> Option<Vec<u8>> {
    let end = chunks(png)?.into_iter().find(|chunk| chunk.kind == b"IEND")?.start;
    let content = [b"iTXt".as_slice(), TEXT_HEAD, text.as_bytes()].concat();
    let length = u32::try_from(content.len() - 4).ok()?;
    let mut crc = flate2::Crc::new();
    crc.update(&content);
    let chunk = [&length.to_be_bytes()[..], &content, &crc.sum().to_be_bytes()].concat();
    Some([png.get(..end)?, &chunk, png.get(end..)?].concat())
}

/// The text that [`with_text`] put there.
fn text_of(png: &[u8]) -> Option<String> {
    let text = chunks(png)?.into_iter().find(|chunk| chunk.kind == b"iTXt")?;
    String::from_utf8(text.content.strip_prefix(TEXT_HEAD)?.to_vec()).ok()
}

/// A chunk of a PNG.
struct Chunk<'a> {
    /// Offset of its first byte.
    start: usize,
    kind: &'a [u8],
    content: &'a [u8],
}

fn chunks(png: &[u8]) -> Option<Vec<Chunk<'_>>> {
    let mut found = Vec::new();
    let mut start = SIGNATURE.len();
    png.starts_with(SIGNATURE).then_some(())?;
    while let Some(head) = png.get(start..start + 8) {
        let length = u32::from_be_bytes(head.get(..4)?.try_into().ok()?) as usize;
        let end = start.checked_add(8)?.checked_add(length)?;
        found.push(Chunk { start, kind: head.get(4..)?, content: png.get(start + 8..end)? });
        start = end + 4;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// The chunks that every PNG ends with.
    const EMPTY: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\0IEND\xae\x42\x60\x82";

    #[test]
    fn a_picture_carries_its_report() {
        let picture = with_text(EMPTY, "cost $1 · none").unwrap();
        assert_eq!(text_of(&picture).unwrap(), "cost $1 · none");
        assert!(picture.ends_with(b"IEND\xae\x42\x60\x82"));
        assert_eq!(text_of(EMPTY), None);
    }

    #[test]
    fn a_file_that_is_no_picture_has_no_text() {
        let long = [SIGNATURE, b"\xff\xff\xff\xffiTXt"].concat();
        for bytes in [&b""[..], b"GIF89a", SIGNATURE, &long] {
            assert_eq!(text_of(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn times_are_no_figures() {
        let text = "a\n```text\nReplay of  x\ncost $1\ntime       5 ms\n```\nb\n";
        let report = block(text).unwrap();
        assert_eq!(report, "Replay of  x\ncost $1\ntime       5 ms\n");
        assert_eq!(figures(report), "Replay of  x\ncost $1");
    }
}
