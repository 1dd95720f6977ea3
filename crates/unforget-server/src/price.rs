//! Prices of models: one data file, with its date and source.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use unforget_wire::{RecordedCall, TokenUsage};

const FILE: &str = include_str!("prices.toml");

static PRICES: LazyLock<PriceList> = LazyLock::new(|| toml::from_str(FILE).unwrap_or_default());

/// Prices of models.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceList {
    /// Month in which they held.
    pub date: String,
    /// Where they were read.
    pub source: String,
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
    pub fn current() -> &'static Self {
        &PRICES
    }

    fn of(&self, model: &str) -> Option<&ModelPrice> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let fitting = self.price.iter().filter(|price| name.starts_with(&price.model));
        fitting.max_by_key(|price| price.model.len())
    }

    /// Dollars for tokens of a model. `None` for a model without a price.
    pub fn cost(&self, model: &str, tokens: &TokenUsage) -> Option<f64> {
        let price = self.of(model)?;
        Some(
            million(tokens.input, price.input)
                + million(tokens.cache_read, price.read)
                + million(tokens.cache_write, price.write)
                + million(tokens.output, price.output),
        )
    }

    /// Dollars by which tokens that are billed again cost more than the same tokens read from the cache. `None` for a
    /// model without a price.
    pub fn cost_again(&self, model: &str, tokens: u64) -> Option<f64> {
        let price = self.of(model)?;
        // Without a price for writing to the cache, such tokens cost as much as input.
        let anew = if price.write > 0.0 { price.write } else { price.input };
        Some(million(tokens, (anew - price.read).max(0.0)))
    }
}

fn million(tokens: u64, dollars: f64) -> f64 {
    tokens as f64 / 1e6 * dollars
}

/// Dollars for a person: two digits, and more for less than a cent.
pub fn dollars(sum: f64) -> String {
    if sum > 0.0 && sum < 0.01 { format!("${sum:.4}") } else { format!("${sum:.2}") }
}

/// The cost of calls, with what has no price.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostSum {
    /// Calls.
    pub calls: u64,
    /// Their tokens.
    pub tokens: TokenUsage,
    /// Dollars of the calls that have a price: the host's own, else by the list.
    pub dollars: f64,
    /// Calls without a price, by the model's name.
    pub unpriced: BTreeMap<String, u64>,
}

/// Name of a model that a transcript does not tell.
const UNKNOWN: &str = "unknown";

impl CostSum {
    /// Adds a call.
    pub fn add(&mut self, call: &RecordedCall) {
        let model = call.model.as_deref().unwrap_or(UNKNOWN);
        self.calls += 1;
        self.tokens.add(&call.tokens);
        match call.cost.or_else(|| PriceList::current().cost(model, &call.tokens)) {
            Some(cost) => self.dollars += cost,
            None => *self.unpriced.entry(model.to_owned()).or_default() += 1,
        }
    }

    /// Number of calls without a price.
    pub fn unpriced_calls(&self) -> u64 {
        self.unpriced.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_table() {
        let prices = PriceList::current();
        assert!(!prices.price.is_empty() && !prices.date.is_empty(), "the file is read");
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

    #[test]
    fn billed_again_table() {
        let prices = PriceList::current();
        let table = [
            ("claude-opus-4-5", Some("$5.75"), "written at 6.25 in place of read at 0.50"),
            ("gpt-5.4", Some("$2.25"), "writing has no price of its own"),
            ("nobody-knows", None, "unknown"),
        ];
        for (model, want, why) in table {
            assert_eq!(prices.cost_again(model, 1_000_000).map(dollars).as_deref(), want, "{why}");
        }
        assert_eq!(
            (dollars(0.0), dollars(0.001_23), dollars(12.0)),
            ("$0.00".into(), "$0.0012".into(), "$12.00".into())
        );
    }

    #[test]
    fn what_has_no_price_is_counted() {
        let call = |model: Option<&str>, cost: Option<f64>| RecordedCall {
            id: String::new(),
            model: model.map(str::to_owned),
            time: None,
            folder: None,
            tokens: TokenUsage { input: 1_000_000, ..TokenUsage::default() },
            cost,
        };
        let mut sum = CostSum::default();
        for call in [
            call(Some("claude-opus-4-5"), None),
            call(Some("own"), Some(1.5)),
            call(Some("own"), None),
            call(None, None),
        ] {
            sum.add(&call);
        }
        assert_eq!((sum.calls, dollars(sum.dollars)), (4, "$6.50".to_owned()));
        assert_eq!(sum.unpriced, BTreeMap::from([("own".to_owned(), 1), (UNKNOWN.to_owned(), 1)]));
    }
}
