//! A whole terminal as a screen, which is given back as it was, whatever happens.

use std::io::{self, Stdout, Write};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{Frame, Terminal};

use super::visible::visible;
use crate::picker::PickerKey;

/// The terminal while it is a screen.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal. It is given back when the screen is dropped, and before the message of a panic.
    ///
    /// # Errors
    /// If the terminal cannot be one.
    pub(crate) fn open() -> io::Result<Self> {
        enable_raw_mode()?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |what| {
            give_back().ok();
            before(what);
        }));
        let opened = execute!(io::stdout(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        match opened {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                give_back().ok();
                Err(error)
            }
        }
    }

    /// Draws. What would steer the terminal is made visible, whoever put it there.
    pub(crate) fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(|frame| {
            view(frame);
            for cell in &mut frame.buffer_mut().content {
                let shown = visible(cell.symbol()).into_owned();
                if shown != cell.symbol() {
                    // One cell has room for one character.
                    cell.set_symbol(shown.get(..1).filter(|first| first.is_ascii()).unwrap_or("\u{fffd}"));
                }
            }
        })?;
        Ok(())
    }

    /// Waits for a key that means something, or for another size: then `None`.
    pub(crate) fn key() -> io::Result<Option<PickerKey>> {
        loop {
            match event::read()? {
                Event::Resize(..) => return Ok(None),
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    if let Some(key) = key_of(key.code, key.modifiers) {
                        return Ok(Some(key));
                    }
                }
                _ => {}
            }
        }
    }

    /// Asks the terminal to copy a text (OSC 52). Not every terminal does.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        let out = self.terminal.backend_mut();
        write!(out, "\u{1b}]52;c;{}\u{7}", base64(text.as_bytes()))?;
        Write::flush(out)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody is left to be told.
        give_back().ok();
        drop(std::panic::take_hook());
    }
}

/// Gives the terminal back.
fn give_back() -> io::Result<()> {
    execute!(io::stdout(), LeaveAlternateScreen)?;
    execute!(io::stdout(), ratatui::crossterm::cursor::Show)?;
    disable_raw_mode()
}

fn key_of(code: KeyCode, modifiers: KeyModifiers) -> Option<PickerKey> {
    Some(match code {
        KeyCode::Char(one) if modifiers.contains(KeyModifiers::CONTROL) => {
            PickerKey::Ctrl(one.to_ascii_lowercase())
        }
        KeyCode::Char(one) if !modifiers.contains(KeyModifiers::ALT) => PickerKey::Char(one),
        KeyCode::Backspace => PickerKey::Backspace,
        KeyCode::Enter => PickerKey::Enter,
        KeyCode::Esc => PickerKey::Esc,
        KeyCode::Up => PickerKey::Up,
        KeyCode::Down => PickerKey::Down,
        KeyCode::PageUp => PickerKey::PageUp,
        KeyCode::PageDown => PickerKey::PageDown,
        KeyCode::Home => PickerKey::Home,
        KeyCode::End => PickerKey::End,
        _ => return None,
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let of = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = (of(0) << 16) | (of(1) << 8) | of(2);
        for place in 0..4 {
            let digit = DIGITS.get(((bits >> (18 - 6 * place)) & 63) as usize).copied().unwrap_or(b'=');
            out.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_table() {
        for (text, want) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("4a36", "NGEzNg==")] {
            assert_eq!(base64(text.as_bytes()), want);
        }
    }

    #[test]
    fn keys_table() {
        let (none, ctrl, alt) = (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT);
        let table = [
            (KeyCode::Char('R'), KeyModifiers::SHIFT, Some(PickerKey::Char('R'))),
            (KeyCode::Char('r'), ctrl, Some(PickerKey::Ctrl('r'))),
            (KeyCode::Char('x'), alt, None),
            (KeyCode::Esc, none, Some(PickerKey::Esc)),
            (KeyCode::F(1), none, None),
        ];
        for (code, modifiers, want) in table {
            assert_eq!(key_of(code, modifiers), want, "{code:?}");
        }
    }
}
