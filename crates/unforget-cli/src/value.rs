//! Values with their own notation.

use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;

use unforget_core::policy::WINDOW_MAX;

/// A request form, by its name in `unforget-wire`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect(pub(crate) unforget_wire::Dialect);

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        unforget_wire::Dialect::by_name(text).map(Self).ok_or_else(|| {
            let names: Vec<_> = unforget_wire::Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
            format!("no such dialect; the dialects are {}", names.join(", "))
        })
    }
}

/// An agent that can resume a converted session, by the name of the agent or of its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agent(pub(crate) unforget_wire::ResumingHost);

impl FromStr for Agent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_it = |host: &unforget_wire::ResumingHost| [host.name(), host.format().name()].contains(&text);
        unforget_wire::ResumingHost::ALL.into_iter().find(is_it).map(Self).ok_or_else(|| {
            let names: Vec<_> = unforget_wire::ResumingHost::ALL.iter().map(|host| host.name()).collect();
            format!("sessions are written for {}", names.join(", "))
        })
    }
}

/// Entries by seq, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryRange {
    /// First.
    pub(crate) first: u64,
    /// Last, included.
    pub(crate) last: u64,
}

impl FromStr for EntryRange {
    type Err = String;

    /// `A-B`, or `A` for one entry.
    fn from_str(text: &str) -> Result<Self, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let number =
            |text: &str| text.trim().parse::<u64>().map_err(|_| "write A-B, such as 10-25".to_owned());
        let range = Self { first: number(first)?, last: number(last)? };
        if range.first > range.last || range.last == u64::MAX {
            return Err("the first entry comes after the last".to_owned());
        }
        Ok(range)
    }
}

/// A number of tokens: `32000`, `32k`, `200k`, `1m`, with `k` for a thousand and `m` for a million.
pub(crate) fn tokens(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase().replace(['_', ','], "");
    let (digits, factor) = match lower.as_bytes().last() {
        Some(b'k') => (lower.trim_end_matches('k'), 1_000.0),
        Some(b'm') => (lower.trim_end_matches('m'), 1_000_000.0),
        _ => (lower.as_str(), 1.0),
    };
    let number: f64 = digits.parse().map_err(|_| "write a number such as 32000, 32k or 1m".to_owned())?;
    let tokens = number * factor;
    if (1.0..=1e12).contains(&tokens) {
        Ok(tokens.round() as u64)
    } else {
        Err("write a number from 1 to 1,000,000m".to_owned())
    }
}

/// A number of rows, turns or results: 1 or more.
pub(crate) fn some<T: FromStr + From<u8> + PartialOrd>(text: &str) -> Result<T, String> {
    let number = text.trim().parse::<T>().ok().filter(|number| *number >= T::from(1));
    number.ok_or_else(|| "write a number from 1 on".to_owned())
}

/// A margin of relevance: a finite number above 0.
pub(crate) fn margin(text: &str) -> Result<f64, String> {
    let margin = text.trim().parse().ok().filter(|margin: &f64| margin.is_finite() && *margin > 0.0);
    margin.ok_or_else(|| "write a number above 0, such as 2.5".to_owned())
}

/// Smallest window that is taken, in tokens: less is a typing mistake for thousands.
const WINDOW_MIN: u64 = 1_000;

/// A model's window, in the notation of [`tokens`].
pub(crate) fn window(text: &str) -> Result<u64, String> {
    let window = tokens(text)?;
    if window < WINDOW_MIN {
        return Err("a window has at least 1,000 tokens; 32k stands for 32,000".to_owned());
    }
    if window > WINDOW_MAX {
        return Err("a window has at most 10m tokens: no model has more".to_owned());
    }
    Ok(window)
}

/// An address, or a port of this machine alone.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse()
        .map_err(|_| "write ADDRESS:PORT, such as 127.0.0.1:8787, or a port of this machine".to_owned())
}

/// A window of a model: `MODEL=TOKENS`.
pub(crate) fn model_window(text: &str) -> Result<(String, u64), String> {
    let (model, window) = text.split_once('=').ok_or("write MODEL=TOKENS, such as claude-*=64k")?;
    Ok((model.to_owned(), self::window(window)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_are_numbers_above_0() {
        for (text, want) in [("2.5", Some(2.5)), (" 6 ", Some(6.0)), ("1e-3", Some(0.001))] {
            assert_eq!(margin(text).ok(), want, "{text}");
        }
        for text in ["0", "-0", "-1", "nan", "inf", "-inf", "1e999", "", "much"] {
            assert!(margin(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tokens_table() {
        let table = [
            ("32000", Some(32_000), "plain"),
            ("32k", Some(32_000), "thousands, not 1024s: that is how windows are named"),
            ("200K", Some(200_000), "either case"),
            ("1m", Some(1_000_000), "millions"),
            ("1.5m", Some(1_500_000), "fractions"),
            ("32_000", Some(32_000), "separators"),
            ("", None, "nothing"),
            ("k", None, "no number"),
            ("-3", None, "negative"),
            ("0", None, "no window"),
            ("1e99", None, "beyond any model"),
            ("nan", None, "not a number"),
        ];
        for (text, want, why) in table {
            assert_eq!(tokens(text).ok(), want, "{why}: {text:?}");
        }
    }

    #[test]
    fn some_table() {
        let table = [
            ("1", Some(1), "the least"),
            ("40", Some(40), "more"),
            ("0", None, "nothing would be shown"),
            ("-1", None, "fewer than nothing"),
            ("many", None, "no number"),
        ];
        for (text, want, why) in table {
            assert_eq!(some::<usize>(text).ok(), want, "{why}: {text:?}");
            assert_eq!(some::<u64>(text).ok(), want.map(|want| want as u64), "{why}: {text:?}");
        }
    }

    #[test]
    fn window_table() {
        let table = [
            ("200k", Some(200_000), "a model's"),
            ("1k", Some(1_000), "the smallest"),
            ("10m", Some(10_000_000), "the largest"),
            ("10000001", None, "beyond any model"),
            ("12", None, "12 for 12k"),
            ("x", None, "no number"),
        ];
        for (text, want, why) in table {
            assert_eq!(window(text).ok(), want, "{why}: {text:?}");
        }
    }

    #[test]
    fn entry_range_table() {
        let table = [
            ("3-9", Some((3, 9)), "both ends"),
            ("7", Some((7, 7)), "one entry"),
            ("9-3", None, "backwards"),
            ("-3", None, "no start"),
            ("18446744073709551615", None, "its end would overflow"),
        ];
        for (text, want, why) in table {
            let got = text.parse::<EntryRange>().ok().map(|range| (range.first, range.last));
            assert_eq!(got, want, "{why}: {text:?}");
        }
    }
}
