//! A whole terminal as a screen, or some lines of one, which is given back as it was, whatever happens.

use std::io::{self, Stdout, Write};
use std::time::Duration;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    self, DisableMouseCapture, EnableMouseCapture, Event, KeyCode, KeyEventKind, KeyModifiers, MouseButton,
    MouseEventKind,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};

use super::visible::visible;

/// A key that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenKey {
    /// A character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// Deletes the last character.
    Backspace,
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// To the next field.
    Tab,
    /// To the field before.
    BackTab,
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One field to the left.
    Left,
    /// One field to the right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first line.
    Home,
    /// To the last line.
    End,
}

/// What a mouse did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MouseDeed {
    /// The left button went down.
    Press,
    /// The wheel turned away from the person.
    WheelUp,
    /// The wheel turned towards the person.
    WheelDown,
}

/// What a person did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenEvent {
    /// A key.
    Key(ScreenKey),
    /// A mouse, at a column and a line of the terminal.
    Mouse(MouseDeed, u16, u16),
    /// The terminal has another size.
    Resized,
}

/// How much of the terminal is a screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScreenShape {
    /// Lines below the prompt of the shell; `None` takes all of the terminal.
    pub(crate) lines: Option<u16>,
    /// Whether the mouse is read, which then no longer selects text.
    pub(crate) mouse: bool,
}

/// The terminal while it is a screen.
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    shape: ScreenShape,
}

impl Screen {
    /// Takes the whole terminal. It is given back when the screen is dropped, and before the message of a panic.
    ///
    /// # Errors
    /// If the terminal cannot be one.
    pub(crate) fn open() -> io::Result<Self> {
        Self::of(ScreenShape::default())
    }

    /// Takes a part of the terminal, as [`Screen::open`] takes all of it.
    ///
    /// # Errors
    /// If the terminal cannot be one.
    pub(crate) fn of(shape: ScreenShape) -> io::Result<Self> {
        enable_raw_mode()?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |what| {
            give_back(shape).ok();
            before(what);
        }));
        match take(shape) {
            Ok(terminal) => Ok(Self { terminal, shape }),
            Err(error) => {
                give_back(shape).ok();
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

    /// The part of the terminal that is drawn on next.
    pub(crate) fn area(&mut self) -> io::Result<Rect> {
        self.terminal.autoresize()?;
        Ok(self.terminal.get_frame().area())
    }

    /// Waits for a key that means something, or for another size: then `None`.
    pub(crate) fn key() -> io::Result<Option<ScreenKey>> {
        loop {
            match event_of(&event::read()?) {
                Some(ScreenEvent::Key(key)) => return Ok(Some(key)),
                Some(ScreenEvent::Resized) => return Ok(None),
                _ => {}
            }
        }
    }

    /// Waits for what a person does; `None` if nothing that means something was done in time.
    pub(crate) fn event(patience: Duration) -> io::Result<Option<ScreenEvent>> {
        if !event::poll(patience)? {
            return Ok(None);
        }
        Ok(event_of(&event::read()?))
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
        if self.shape.lines.is_some() {
            self.terminal.clear().ok();
        }
        give_back(self.shape).ok();
        drop(std::panic::take_hook());
    }
}

/// Takes the terminal.
fn take(shape: ScreenShape) -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    let mut stdout = io::stdout();
    let viewport = if let Some(lines) = shape.lines {
        Viewport::Inline(lines)
    } else {
        execute!(stdout, EnterAlternateScreen)?;
        Viewport::Fullscreen
    };
    if shape.mouse {
        execute!(stdout, EnableMouseCapture)?;
    }
    Terminal::with_options(CrosstermBackend::new(stdout), TerminalOptions { viewport })
}

/// Gives the terminal back.
fn give_back(shape: ScreenShape) -> io::Result<()> {
    if shape.mouse {
        execute!(io::stdout(), DisableMouseCapture)?;
    }
    if shape.lines.is_none() {
        execute!(io::stdout(), LeaveAlternateScreen)?;
    }
    execute!(io::stdout(), ratatui::crossterm::cursor::Show)?;
    disable_raw_mode()
}

fn event_of(event: &Event) -> Option<ScreenEvent> {
    match event {
        Event::Resize(..) => Some(ScreenEvent::Resized),
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            key_of(key.code, key.modifiers).map(ScreenEvent::Key)
        }
        Event::Mouse(mouse) => {
            let deed = match mouse.kind {
                MouseEventKind::Down(MouseButton::Left) => MouseDeed::Press,
                MouseEventKind::ScrollUp => MouseDeed::WheelUp,
                MouseEventKind::ScrollDown => MouseDeed::WheelDown,
                _ => return None,
            };
            Some(ScreenEvent::Mouse(deed, mouse.column, mouse.row))
        }
        _ => None,
    }
}

fn key_of(code: KeyCode, modifiers: KeyModifiers) -> Option<ScreenKey> {
    Some(match code {
        KeyCode::Char(one) if modifiers.contains(KeyModifiers::CONTROL) => {
            ScreenKey::Ctrl(one.to_ascii_lowercase())
        }
        KeyCode::Char(one) if !modifiers.contains(KeyModifiers::ALT) => ScreenKey::Char(one),
        KeyCode::Backspace => ScreenKey::Backspace,
        KeyCode::Enter => ScreenKey::Enter,
        KeyCode::Esc => ScreenKey::Esc,
        KeyCode::Tab => ScreenKey::Tab,
        KeyCode::BackTab => ScreenKey::BackTab,
        KeyCode::Up => ScreenKey::Up,
        KeyCode::Down => ScreenKey::Down,
        KeyCode::Left => ScreenKey::Left,
        KeyCode::Right => ScreenKey::Right,
        KeyCode::PageUp => ScreenKey::PageUp,
        KeyCode::PageDown => ScreenKey::PageDown,
        KeyCode::Home => ScreenKey::Home,
        KeyCode::End => ScreenKey::End,
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
            (KeyCode::Char('R'), KeyModifiers::SHIFT, Some(ScreenKey::Char('R'))),
            (KeyCode::Char('r'), ctrl, Some(ScreenKey::Ctrl('r'))),
            (KeyCode::Char('x'), alt, None),
            (KeyCode::Esc, none, Some(ScreenKey::Esc)),
            (KeyCode::BackTab, KeyModifiers::SHIFT, Some(ScreenKey::BackTab)),
            (KeyCode::F(1), none, None),
        ];
        for (code, modifiers, want) in table {
            assert_eq!(key_of(code, modifiers), want, "{code:?}");
        }
    }
}
