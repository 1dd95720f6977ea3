//! Windows of models.

/// Name prefixes and windows, in tokens; the longest match wins. Source: the providers' model pages, 2026-11.
const KNOWN: &[(&str, u64)] = &[
    ("chatgpt-4o", 128_000),
    ("claude", 200_000),
    ("codex", 200_000),
    ("deepseek", 128_000),
    ("gemini", 1_048_576),
    ("gemini-1.5-pro", 2_097_152),
    ("gpt-3.5", 16_385),
    ("gpt-4", 8_192),
    ("gpt-4-turbo", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-5", 400_000),
    ("gpt-oss", 131_072),
    ("kimi", 131_072),
    ("mistral", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("qwen", 131_072),
];

/// Window of an unknown model.
const UNKNOWN: u64 = 128_000;

/// Configured windows: name patterns, of which the longest match wins. `*` at the end stands for any suffix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Patterns and windows.
    pub patterns: Vec<(String, u64)>,
    /// Most tokens of a prompt, whatever the window: models use large windows badly towards the end.
    pub cap: Option<u64>,
}

impl Windows {
    /// The window of a model. Vendor prefixes such as `openai/` are ignored in the built-in table.
    pub fn of(&self, model: Option<&str>) -> u64 {
        let model = model.unwrap_or_default();
        let is_match = |pattern: &str| match pattern.strip_suffix('*') {
            Some(start) => model.starts_with(start),
            None => model == pattern,
        };
        let set = self.patterns.iter().filter(|(pattern, _)| is_match(pattern));
        let set = set.max_by_key(|(pattern, _)| pattern.len()).map(|(_, window)| *window);
        let window = set.unwrap_or_else(|| known(model));
        self.cap.map_or(window, |cap| window.min(cap))
    }

    /// These windows, with others that win for equal patterns.
    pub(super) fn with(&self, other: &Self) -> Self {
        let is_free = |pattern: &String| other.patterns.iter().all(|(own, _)| own != pattern);
        let mut patterns = self.patterns.clone();
        patterns.retain(|(pattern, _)| is_free(pattern));
        patterns.extend(other.patterns.iter().cloned());
        Self { patterns, cap: other.cap.or(self.cap) }
    }
}

fn known(model: &str) -> u64 {
    let name = model.rsplit('/').next().unwrap_or(model);
    let fitting = KNOWN.iter().filter(|(prefix, _)| name.starts_with(prefix));
    fitting.max_by_key(|(prefix, _)| prefix.len()).map_or(UNKNOWN, |(_, window)| *window)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_table() {
        let windows = Windows {
            patterns: vec![("*".into(), 50_000), ("claude-*".into(), 64_000), ("mine".into(), 9_000)],
            cap: Some(60_000),
        };
        let bare = Windows::default();
        let table = [
            (&windows, Some("claude-x"), 60_000, "the cap"),
            (&windows, Some("mine"), 9_000, "a whole name"),
            (&windows, Some("gpt-5"), 50_000, "everything else"),
            (&bare, Some("anthropic/claude-opus-5"), 200_000, "a vendor's prefix"),
            (&bare, Some("gpt-4o-mini"), 128_000, "the longest prefix"),
            (&bare, Some("gpt-4"), 8_192, "not a newer one"),
            (&bare, Some("nobody-knows"), UNKNOWN, "unknown"),
            (&bare, None, UNKNOWN, "none"),
        ];
        for (windows, model, window, why) in table {
            assert_eq!(windows.of(model), window, "{why}");
        }
    }

    #[test]
    fn windows_of_a_command_win() {
        let daemon = Windows {
            patterns: vec![("claude-*".into(), 64_000), ("gpt-5".into(), 90_000)],
            cap: Some(80_000),
        };
        let both = daemon.with(&Windows { patterns: vec![("claude-*".into(), 32_000)], cap: None });
        assert_eq!(both.of(Some("claude-x")), 32_000);
        assert_eq!(both.of(Some("gpt-5")), 80_000);
        assert_eq!(daemon.with(&Windows { cap: Some(9_000), ..Windows::default() }).of(Some("gpt-5")), 9_000);
        assert_eq!(daemon.with(&Windows::default()), daemon);
    }
}
