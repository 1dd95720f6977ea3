//! Arguments of the commands about prompts of the past.

use std::str::FromStr;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap_complete::engine::ArgValueCompleter;
use unforget_text::ToldKind;

use crate::completed::conversations;
use crate::overrides::ShapeArgs;
use crate::value::some;

/// The time of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// The beginning of this turn, from 1.
    Turn(u64),
    /// The sent prompt with this number.
    Sent(u64),
}

impl FromStr for At {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with('r') {
            return text.parse().map(|PromptNumber(number)| Self::Sent(number));
        }
        text.parse().map(Self::Turn).map_err(|_| "write a turn such as 3, or a prompt such as r12".to_owned())
    }
}

/// Number of a sent prompt: `r12` or `12`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PromptNumber(pub(crate) u64);

impl FromStr for PromptNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_prefix('r').unwrap_or(text).parse();
        number.map(Self).map_err(|_| "write a prompt such as r12".to_owned())
    }
}

/// Lists the prompts that a live host was given, as far as they are kept.
#[derive(Debug, Args)]
pub(crate) struct PromptsArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
}

/// Shows which entries the newest prompt leaves out, why, how to get them back, and the fate of the provider's cache.
///
/// Without a name it lists the most recently active conversations. Stored facts are read from the database, even while a
/// daemon owns it; the counts of providers and the fate of their caches come from the daemon, since its start.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
}

/// Shows what a prompt does not show word for word, why, and how to get it back.
///
/// Without --call and --break it is about the newest prompt. Prompts that were sent are taken where they are kept; else, and with
/// --played, the calls are played for the window and model that the options name. The newest 1,500 entries are looked through.
#[derive(Debug, Args)]
pub(crate) struct LeftArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(value_name = "SESSION", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// Of this call: 120, or r12 for a prompt that was sent
    #[arg(long, value_name = "N", conflicts_with = "broke")]
    pub(crate) call: Option<String>,
    /// Only what left at this break, counted from 1
    #[arg(long = "break", value_name = "N")]
    pub(crate) broke: Option<u32>,
    /// Only this kind of things; may be given several times
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(ToldKind::ALL.map(ToldKind::name)).try_map(told_kind))]
    pub(crate) kind: Vec<ToldKind>,
    /// Most things of a kind
    #[arg(short = 'n', long, value_name = "N", value_parser = some::<usize>, default_value_t = 40)]
    pub(crate) limit: usize,
    /// List also what still stands in the prompt in the same words
    #[arg(long)]
    pub(crate) standing: bool,
    /// Play the calls for the window, also where prompts that were sent are kept
    #[arg(long)]
    pub(crate) played: bool,
    /// The target of played prompts.
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
}

/// The kind with this name.
fn told_kind(name: String) -> Result<ToldKind, String> {
    ToldKind::by_name(&name).ok_or(name)
}

/// Shows the differences between two prompts, and their reasons.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// The earlier prompt: r12
    pub(crate) from: PromptNumber,
    /// The later prompt: r15
    pub(crate) to: PromptNumber,
}

/// Shows how the newest prompt represents an entry, and since when.
///
/// The newest prompt is the last one that a live host was given. If there is none, it is the prompt that would be
/// made now, for the window and model that the options name.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// The entry, as a prompt or a search names it: e:KEY:12, s:12
    pub(crate) entry: String,
    /// The conversation that names such as s:12 belong to
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// The target of the prompt, if none was sent.
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
}
