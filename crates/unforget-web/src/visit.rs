//! A request of a view.

use std::fmt::Write as _;
use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use unforget_core::id::ConversationKey;
use unforget_engine::Engine;
use unforget_engine::prompt::{Shape, ThreadRef};
use unforget_engine::recognise::RecognisedConversation;
use unforget_engine::trust::Resolved;
use unforget_server::when::Clock;
use unforget_wire::{Dialect, Format};

use crate::state::Site;
use crate::trouble::Trouble;

/// Allowed windows of a prompt, in tokens.
const WINDOWS: std::ops::RangeInclusive<u64> = 1..=unforget_core::policy::WINDOW_MAX;

/// The query of an address, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the text behind the question mark. Everything is a query.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Self(pairs.collect())
    }

    /// The value of a name; `None` if it is missing or blank.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
        found.filter(|value| !value.is_empty())
    }

    /// The call that it names: `at`, or `call` as in the HTTP API and on the command line.
    pub(crate) fn call(&self) -> Option<&str> {
        self.get("at").or_else(|| self.get("call"))
    }

    /// This query with other values; `None` takes a name away. As text with its question mark, empty for an empty query.
    pub(crate) fn with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
        let kept = self.0.iter().filter(|(name, value)| !is_changed(name) && !value.trim().is_empty());
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let new = changes.iter().filter_map(|(name, value)| Some((*name, (*value)?)));
        let mut text = String::new();
        for (name, value) in kept.chain(new) {
            let sign = if text.is_empty() { '?' } else { '&' };
            // Writing to a string cannot fail.
            write!(text, "{sign}{}={}", encoded(name), encoded(value)).ok();
        }
        text
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

/// Text as a segment of an address.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The address of a conversation's reader.
pub(crate) fn address(key: &ConversationKey) -> String {
    format!("/web/c/{}", encoded(&key.0))
}

/// A request of a view.
pub(crate) struct Visit {
    pub(crate) site: Arc<Site>,
    /// The engine as the visitor may see it.
    pub(crate) engine: Engine,
    pub(crate) is_owner: bool,
    /// Whether the visitor may decide what stands in prompts.
    pub(crate) may_decide: bool,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) clock: Clock,
    /// Parts of the path by name.
    pub(crate) names: Vec<(String, String)>,
}

impl Visit {
    /// A part of the path.
    pub(crate) fn name(&self, name: &str) -> &str {
        self.names.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// A number in the query; `None` if it is missing.
    ///
    /// # Errors
    /// 400 for any other text.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Trouble> {
        let text = self.query.get(name);
        let wrong =
            |text: &str| Trouble::new(400, format!("{name} is {text}, which is no number"), "use digits");
        text.map(|text| text.parse().map_err(|_| wrong(text))).transpose()
    }

    /// The conversation of the path.
    pub(crate) fn conversation(&self) -> Result<Found, Trouble> {
        let resolved = self.engine.resolve(self.name("name"))?;
        let id = resolved.conversation.id;
        let one = self.engine.recognised(&|stored| stored.id == id)?.pop();
        let one = one.ok_or_else(Trouble::ours)?;
        Ok(Found { of: ThreadRef { conversation: id, thread: resolved.thread }, resolved, one })
    }

    /// The shape of prompts that the query asks for.
    ///
    /// # Errors
    /// 400 for an unknown dialect, or a window out of range.
    pub(crate) fn shape(&self, found: &Found) -> Result<Shape, Trouble> {
        let settings = &self.site.settings;
        let named = |name: &str| {
            let names: Vec<_> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
            let next = format!("the dialects are {}", names.join(", "));
            Dialect::by_name(name)
                .ok_or_else(|| Trouble::new(400, format!("there is no dialect {name}"), next))
        };
        let dialect = self.query.get("dialect").map(named).transpose()?.or(settings.dialect);
        let format = &found.resolved.conversation.format;
        let usual = || Dialect::usual(Format::by_name(format).unwrap_or(Format::Unknown));
        let window = self.window()?;
        let model = self.query.get("model").or(settings.model.as_deref());
        Ok(Shape::new(window, model, dialect.unwrap_or_else(usual)))
    }

    fn window(&self) -> Result<u64, Trouble> {
        let Some(text) = self.query.get("window") else { return Ok(self.site.settings.window) };
        let (digits, factor) = match text.to_ascii_lowercase().strip_suffix(['k', 'm']) {
            Some(digits) if text.ends_with(['k', 'K']) => (digits.to_owned(), 1_000),
            Some(digits) => (digits.to_owned(), 1_000_000),
            None => (text.to_owned(), 1),
        };
        let window = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        let wrong = || Trouble::new(400, format!("{text} is no window"), "write 32000, 32k, 200k or 1m");
        window.filter(|window| WINDOWS.contains(window)).ok_or_else(wrong)
    }
}

/// The conversation of a visit.
pub(crate) struct Found {
    pub(crate) resolved: Resolved,
    pub(crate) one: RecognisedConversation,
    pub(crate) of: ThreadRef,
}

impl Found {
    /// The address of its reader; it names the lane too.
    pub(crate) fn address(&self) -> String {
        let key = &self.resolved.conversation.key;
        match self.of.thread.0 {
            0 => address(key),
            thread => format!("/web/c/{}", encoded(&format!("{key}#{thread}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_table() {
        let query = Query::parse("q=a+b%26&host=&x&at=7");
        assert_eq!((query.get("q"), query.get("host"), query.get("at")), (Some("a b&"), None, Some("7")));
        assert_eq!(query.with(&[("at", Some("8"))]), "?q=a%20b%26&at=8");
        assert_eq!(query.with(&[("at", None), ("q", None)]), "");
        for (text, want, why) in [
            ("at=7", Some("7"), "as the page writes it"),
            ("call=r12", Some("r12"), "as the API and the command line have it"),
            ("at=7&call=9", Some("7"), "both"),
            ("q=7", None, "neither"),
        ] {
            assert_eq!(Query::parse(text).call(), want, "{why}");
        }
    }
}
