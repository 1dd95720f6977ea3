//! Arguments of the terminal interface.

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::completed::conversations;
use crate::overrides::ShapeArgs;
use crate::tui::ThemeName;

/// Shows conversations, their entries and what a model saw of them, in the terminal. Press ? for the keys.
#[derive(Debug, Default, Args)]
pub(crate) struct TuiArgs {
    /// The conversation to open: its id in `list`, or its key
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Take N lines below the prompt of the shell instead of the whole terminal
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20", value_parser = clap::value_parser!(u16).range(6..=200))]
    pub(crate) inline: Option<u16>,
    /// The colours; those of the last time by default, and none with NO_COLOR
    #[arg(long, value_name = "NAME")]
    pub(crate) theme: Option<ThemeName>,
    /// Leave the mouse to the terminal, so that it selects text
    #[arg(long)]
    pub(crate) no_mouse: bool,
    /// Neither read nor keep the state of the interface
    #[arg(long)]
    pub(crate) fresh: bool,
    /// The prompts of the context view
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
}
