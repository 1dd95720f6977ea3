//! When hosts delete their transcripts.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::usual::HostFolders;

/// A day.
const DAY: Duration = Duration::from_hours(24);

impl HostFolders {
    /// How long a host keeps a transcript that nobody writes to; `None` if it keeps transcripts for ever, as far as is known. The
    /// host's own settings are followed.
    ///
    /// * `host` - as discovery names it.
    ///
    /// Source: Claude Code 2.1 (`cleanupPeriodDays`, 30 days), Gemini CLI 0.30 (`general.sessionRetention`, 30 days).
    pub fn kept_by(&self, host: &str) -> Option<Duration> {
        match host {
            "Claude Code" => {
                let settings = settings(&self.current(".claude/projects").with_file_name("settings.json"));
                let days = settings.get("cleanupPeriodDays").and_then(Value::as_u64).unwrap_or(30);
                Some(DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX)))
            }
            "Gemini CLI" => {
                let settings = settings(&self.current(".gemini/settings.json"));
                let retention = settings.pointer("/general/sessionRetention");
                let get = |key| retention.and_then(|retention| retention.get(key));
                if get("enabled").and_then(Value::as_bool) == Some(false) {
                    return None;
                }
                get("maxAge").and_then(Value::as_str).map_or(Some(DAY * 30), age)
            }
            _ => None,
        }
    }
}

/// A file of settings; empty if it cannot be read. A host that cannot read them has its defaults.
fn settings(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// `30d`, `24h`, `1w`, `6m`. `None` for anything else.
fn age(text: &str) -> Option<Duration> {
    let (number, unit) = text.trim().split_at_checked(text.trim().len().checked_sub(1)?)?;
    let unit = match unit {
        "h" => DAY / 24,
        "d" => DAY,
        "w" => DAY * 7,
        "m" => DAY * 30,
        _ => return None,
    };
    Some(unit.saturating_mul(number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_hosts_are_followed() {
        let table = [
            ("Claude Code", ".claude", "", Some(30), "its default"),
            ("Claude Code", ".claude", r#"{"cleanupPeriodDays":7}"#, Some(7), "set"),
            ("Claude Code", ".claude", r#"{"cleanupPeriodDays":"#, Some(30), "a torn file"),
            (
                "Claude Code",
                ".claude",
                r#"{"cleanupPeriodDays":99999999999}"#,
                Some(u32::MAX.into()),
                "for ever",
            ),
            ("Gemini CLI", ".gemini", "", Some(30), "its default"),
            ("Gemini CLI", ".gemini", r#"{"general":{"sessionRetention":{"enabled":false}}}"#, None, "off"),
            ("Gemini CLI", ".gemini", r#"{"general":{"sessionRetention":{"maxAge":"2w"}}}"#, Some(14), "set"),
            ("Gemini CLI", ".gemini", r#"{"general":{"sessionRetention":{"maxAge":"é"}}}"#, None, "no age"),
            ("Codex", ".codex", "", None, "it deletes nothing"),
        ];
        for (host, folder, text, days, why) in table {
            let home = tempfile::tempdir().unwrap();
            fs::create_dir_all(home.path().join(folder)).unwrap();
            if !text.is_empty() {
                fs::write(home.path().join(folder).join("settings.json"), text).unwrap();
            }
            let want = days.map(|days: u64| Duration::from_secs(days * 86_400));
            assert_eq!(HostFolders::new(home.path(), &|_| None).kept_by(host), want, "{host}: {why}");
        }
    }
}
