//! Colours by meaning.

use clap::ValueEnum;
use ratatui::style::{Color, Modifier, Style};
use serde::{Deserialize, Serialize};

use super::rows::LineKind;

/// A theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ThemeName {
    /// For a dark terminal
    #[default]
    Dark,
    /// For a light terminal
    Light,
    /// Strong colours, nothing dim
    Contrast,
    /// No colours
    Plain,
}

impl ThemeName {
    /// The next one.
    pub(crate) const fn next(self) -> Self {
        match self {
            Self::Dark => Self::Light,
            Self::Light => Self::Contrast,
            Self::Contrast => Self::Plain,
            Self::Plain => Self::Dark,
        }
    }

    /// The name for people.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Contrast => "high contrast",
            Self::Plain => "plain",
        }
    }
}

/// The styles of a theme.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TuiTheme {
    /// Names, marks and the pane that has the keys.
    pub(crate) accent: Style,
    /// What matters less.
    pub(crate) dim: Style,
    /// Headings.
    pub(crate) strong: Style,
    /// The chosen line.
    pub(crate) chosen: Style,
    /// Words of a query.
    pub(crate) found: Style,
    code: Style,
    good: Style,
    bad: Style,
    model: Style,
    tool: Style,
    warn: Style,
}

const fn fg(color: Color) -> Style {
    Style::new().fg(color)
}

impl TuiTheme {
    /// The theme with a name.
    pub(crate) const fn of(name: ThemeName) -> Self {
        let (none, bold) = (Style::new(), Style::new().add_modifier(Modifier::BOLD));
        match name {
            ThemeName::Dark => Self {
                accent: fg(Color::Cyan),
                dim: none.add_modifier(Modifier::DIM),
                strong: bold,
                chosen: none.bg(Color::Indexed(237)).add_modifier(Modifier::BOLD),
                found: fg(Color::Yellow).add_modifier(Modifier::BOLD),
                code: fg(Color::Yellow),
                good: fg(Color::Green),
                bad: fg(Color::Red),
                model: fg(Color::Blue),
                tool: fg(Color::Magenta),
                warn: fg(Color::Yellow),
            },
            ThemeName::Light => Self {
                accent: fg(Color::Indexed(25)),
                dim: fg(Color::Indexed(242)),
                strong: bold,
                chosen: none.bg(Color::Indexed(254)).add_modifier(Modifier::BOLD),
                found: fg(Color::Indexed(124)).add_modifier(Modifier::BOLD),
                code: fg(Color::Indexed(94)),
                good: fg(Color::Indexed(28)),
                bad: fg(Color::Indexed(124)),
                model: fg(Color::Indexed(19)),
                tool: fg(Color::Indexed(90)),
                warn: fg(Color::Indexed(130)),
            },
            ThemeName::Contrast => Self {
                accent: fg(Color::LightCyan).add_modifier(Modifier::BOLD),
                dim: none,
                strong: bold.add_modifier(Modifier::UNDERLINED),
                chosen: bold.add_modifier(Modifier::REVERSED),
                found: none.add_modifier(Modifier::REVERSED),
                code: fg(Color::LightYellow),
                good: fg(Color::LightGreen).add_modifier(Modifier::BOLD),
                bad: fg(Color::LightRed).add_modifier(Modifier::BOLD),
                model: fg(Color::LightBlue).add_modifier(Modifier::BOLD),
                tool: fg(Color::LightMagenta).add_modifier(Modifier::BOLD),
                warn: fg(Color::LightYellow).add_modifier(Modifier::BOLD),
            },
            ThemeName::Plain => Self {
                accent: bold,
                dim: none,
                strong: bold,
                chosen: none.add_modifier(Modifier::REVERSED),
                found: bold.add_modifier(Modifier::UNDERLINED),
                code: none,
                good: none,
                bad: bold,
                model: none,
                tool: none,
                warn: bold,
            },
        }
    }

    /// The style of a kind of text.
    pub(crate) const fn of_kind(&self, kind: LineKind) -> Style {
        match kind {
            LineKind::Plain => Style::new(),
            LineKind::Head => self.strong,
            LineKind::Dim => self.dim,
            LineKind::Person => self.accent,
            LineKind::Model => self.model,
            LineKind::Tool => self.tool,
            LineKind::Code => self.code,
            LineKind::Good => self.good,
            LineKind::Bad => self.bad,
            LineKind::Warn => self.warn,
        }
    }
}
