//! Checks settings: each value, its source, and all problems.

use std::str::FromStr;

use toml::de::{DeTable, DeValue};
use unforget_server::json::SettingJson;

use super::{Env, From};
use crate::failure::Failure;

/// A problem of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The setting: as in the settings file, such as `serve.upstreams[0].api`, or the variable or option.
    pub(crate) setting: String,
    /// A description of the problem.
    pub(crate) what: String,
    /// The advised next step.
    pub(crate) next: String,
}

impl Wrong {
    pub(crate) fn new(setting: impl Into<String>, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self { setting: setting.into(), what: what.into(), next: next.into() }
    }

    /// This problem, below another setting.
    pub(super) fn below(self, above: &str) -> Self {
        Self { setting: format!("{above}.{}", self.setting), ..self }
    }

    /// As the failure of a command that needs the setting.
    pub(crate) fn failure(self) -> Failure {
        let Self { setting, what, next } = self;
        Failure::input("settings", format!("{setting}: {what}"), next)
    }
}

/// The possible sources of a setting, in order of priority.
pub(super) struct Voices<T> {
    pub(super) flag: Option<T>,
    pub(super) env: Option<&'static str>,
    pub(super) file: Option<T>,
    pub(super) default: Option<T>,
}

/// The state of a check of settings.
pub(crate) struct Checking<'a> {
    env: Env<'a>,
    /// Settings of the table `serve`, in order.
    pub(crate) rows: Vec<SettingJson>,
    /// Errors.
    pub(crate) wrongs: Vec<Wrong>,
    /// Allowed settings that should be different.
    pub(crate) doubts: Vec<Wrong>,
}

impl<'a> Checking<'a> {
    pub(super) fn new(env: Env<'a>) -> Self {
        Self { env, rows: Vec::new(), wrongs: Vec::new(), doubts: Vec::new() }
    }

    pub(super) const fn env(&self) -> Env<'a> {
        self.env
    }

    /// The value of a setting, from the first source that has one.
    ///
    /// * `show` - the value's printed form.
    pub(super) fn one<T: FromStr>(
        &mut self,
        name: &'static str,
        voices: Voices<T>,
        show: impl Fn(&T) -> String,
    ) -> Option<T> {
        let Voices { flag, env, file, default } = voices;
        let said = env.and_then(|env| (self.env)(env).map(|text| (env, text)));
        let (value, from) = match (flag, said) {
            (Some(value), _) => (Some(value), From::Flag),
            (None, Some((env, text))) => {
                let value = text.parse().ok();
                if value.is_none() {
                    let what = format!("{text:?} cannot be read");
                    self.wrongs.push(Wrong::new(env, what, "set the variable to a valid value, or unset it"));
                }
                (value, From::Env(env))
            }
            (None, None) if file.is_some() => (file, From::File),
            (None, None) => (default, From::Default),
        };
        self.show(name, value.as_ref().map(show), from);
        value
    }

    /// A row.
    pub(super) fn show(&mut self, name: &'static str, value: Option<String>, from: From) {
        self.rows.push(SettingJson { name, value, from: from.name() });
    }

    /// The value, or `None` after recording the problem.
    pub(super) fn keep<T>(&mut self, read: Result<T, Wrong>) -> Option<T> {
        read.map_err(|wrong| self.wrongs.push(wrong)).ok()
    }
}

/// Line of a setting in a settings file, from 1; of its nearest table if the setting itself is missing.
///
/// * `setting` - as in [`Wrong::setting`].
pub(crate) fn line(text: &str, setting: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut steps = setting.split(['.', '[']).map(|step| step.trim_end_matches(']').trim_matches('"'));
    let mut at = table.get_ref().get(steps.next()?)?;
    for step in steps {
        let next = match step.parse::<usize>() {
            Ok(index) if at.get_ref().is_array() => at.get_ref().get(index),
            _ => DeValue::get(at.get_ref(), step),
        };
        let Some(next) = next else { break };
        at = next;
    }
    let before = text.get(..at.span().start)?;
    Some(before.matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_table() {
        let text = "window = 5\n\n[serve]\ncap = \"x\"\n\n[[serve.upstreams]]\nname = \"a\"\n[[serve.upstreams]]\nname = \"b\"\n[serve.windows]\n\"m-*\" = \"9q\"\n";
        let table = [
            ("window", Some(1), "at the top"),
            ("serve.cap", Some(4), "in a table"),
            ("serve.listen", Some(3), "not there: its table"),
            ("serve.upstreams[1].name", Some(9), "in the second of a list"),
            ("serve.upstreams[1].api", Some(8), "not there: its table"),
            ("serve.windows.\"m-*\"", Some(11), "a quoted name"),
            ("UNFORGET_LISTEN", None, "not of the file"),
        ];
        for (setting, want, why) in table {
            assert_eq!(line(text, setting), want, "{why}: {setting}");
        }
        assert_eq!(line("no toml", "serve.cap"), None);
    }
}
