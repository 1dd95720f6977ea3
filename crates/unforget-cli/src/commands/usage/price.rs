//! Prices of models: one data file, with its date and source.

use serde::Deserialize;
use unforget_wire::TokenUsage;

use crate::failure::{Exit, Failure, Outcome};

const FILE: &str = include_str!("prices.toml");

/// Prices of models.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PriceList {
    /// Month in which they held.
    pub(super) date: String,
    /// Where they were read.
    pub(super) source: String,
    price: Vec<ModelPrice>,
}

/// Dollars per million tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelPrice {
    /// Beginning of the model's name.
    model: String,
    input: f64,
    read: f64,
    write: f64,
    output: f64,
}

impl PriceList {
    /// The prices that this program knows.
    pub(super) fn current() -> Outcome<Self> {
        toml::from_str(FILE).map_err(|error| Failure {
            kind: "engine",
            message: format!("the prices of this program cannot be read: {error}"),
            hint: String::new(),
            exit: Exit::Input,
        })
    }

    /// Dollars for tokens of a model. `None` for a model without a price.
    pub(super) fn cost(&self, model: &str, tokens: &TokenUsage) -> Option<f64> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let fitting = self.price.iter().filter(|price| name.starts_with(&price.model));
        let price = fitting.max_by_key(|price| price.model.len())?;
        let million = |tokens: u64, dollars: f64| tokens as f64 / 1e6 * dollars;
        Some(
            million(tokens.input, price.input)
                + million(tokens.cache_read, price.read)
                + million(tokens.cache_write, price.write)
                + million(tokens.output, price.output),
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn prices_table() {
        let prices = PriceList::current().unwrap();
        let tokens =
            TokenUsage { input: 1_000_000, cache_read: 1_000_000, cache_write: 1_000_000, output: 1_000_000 };
        let table = [
            ("claude-opus-4-5-20251101", Some("36.75"), "the longest beginning"),
            ("claude-opus-4-1", Some("110.25"), "a shorter one"),
            ("anthropic/claude-haiku-4-5", Some("7.35"), "a vendor's prefix"),
            ("gpt-5.3-codex-spark", Some("0.00"), "free"),
            ("nobody-knows", None, "unknown"),
            ("", None, "none"),
        ];
        for (model, want, why) in table {
            let cost = prices.cost(model, &tokens).map(|cost| format!("{cost:.2}"));
            assert_eq!(cost.as_deref(), want, "{model}: {why}");
        }
    }
}
