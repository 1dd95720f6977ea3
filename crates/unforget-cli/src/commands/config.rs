//! `unforget config`.

use serde::Serialize;

use crate::app::App;
use crate::args::{ConfigArgs, ConfigCommand};
use crate::config::{self, From, Setting, Settings, Wrong};
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{ConfigJson, SettingJson};
use crate::output::{Output, paint};
use crate::overrides::ServeArgs;
use crate::text;

/// The result of `config check`, for `--json`.
#[derive(Serialize)]
struct CheckedJson {
    file: Option<String>,
    settings: Vec<SettingJson>,
    /// Errors: a daemon does not start with them.
    problems: Vec<WrongJson>,
    /// Allowed settings that should be different.
    warnings: Vec<WrongJson>,
}

#[derive(Serialize)]
struct WrongJson {
    /// Null if the problem is in a variable or an option.
    file: Option<String>,
    /// From 1.
    line: Option<usize>,
    setting: String,
    what: String,
    next: String,
}

/// Prints all settings for `serve`, and all problems.
fn check(app: &mut App, args: &ServeArgs) -> Outcome {
    let file = config::file(&config::process_env);
    let ConfigJson { mut settings, .. } = of(&app.settings);
    let looked_at = app.settings.serve.looked_at(args, &config::process_env);
    let mut wrongs = app.settings.summariser.wrongs(&config::process_env);
    wrongs.extend(app.settings.meaning.wrongs(&config::process_env));
    settings.extend(looked_at.rows);
    wrongs.extend(looked_at.wrongs);
    let placed = |wrong: Wrong| {
        let line = file.as_ref().and_then(|(_, text)| config::line(text, &wrong.setting));
        let file = file.as_ref().filter(|_| line.is_some()).map(|(path, _)| path.display().to_string());
        WrongJson { file, line, setting: wrong.setting, what: wrong.what, next: wrong.next }
    };
    let checked = CheckedJson {
        file: app.settings.file.as_ref().map(|path| path.display().to_string()),
        settings,
        problems: wrongs.into_iter().map(placed).collect(),
        warnings: looked_at.doubts.into_iter().map(placed).collect(),
    };
    tell(&mut app.out, &checked)
}

/// Prints the problem if the settings are unreadable.
pub(crate) fn broken(out: &mut Output, failure: &Failure) -> Outcome {
    let file = config::file(&config::process_env);
    let broken = file.as_ref().and_then(|(_, text)| config::broken(text));
    let problem = match broken {
        Some((line, Wrong { setting, what, next })) => {
            let file = file.as_ref().map(|(path, _)| path.display().to_string());
            WrongJson { file, line: Some(line), setting, what, next }
        }
        None => WrongJson {
            file: None,
            line: None,
            setting: String::new(),
            what: failure.message.clone(),
            next: failure.hint.clone(),
        },
    };
    let file = file.map(|(path, _)| path.display().to_string());
    tell(out, &CheckedJson { file, settings: Vec::new(), problems: vec![problem], warnings: Vec::new() })
}

fn tell(out: &mut Output, checked: &CheckedJson) -> Outcome {
    let exit = if checked.problems.is_empty() { Exit::Done } else { Exit::Problems };
    if out.json {
        out.json(checked)?;
        return Ok(exit);
    }
    let rows = checked.settings.iter().map(|setting| {
        let value = setting.value.clone().unwrap_or_else(|| "-".to_owned());
        vec![setting.name.to_owned(), value, setting.from.clone()]
    });
    if !checked.settings.is_empty() {
        write!(out, "{}", text::table(&["setting", "value", "from"], rows.collect(), &[]))?;
    }
    let kinds = [("error", &checked.problems), ("warning", &checked.warnings)];
    for (kind, all) in kinds {
        for WrongJson { file, line, setting, what, next } in all {
            let place = match (file, line) {
                (Some(file), Some(line)) => format!("{file}: line {line}: "),
                _ => String::new(),
            };
            let name = if setting.is_empty() { String::new() } else { format!("{setting}: ") };
            writeln!(out, "{kind}: {place}{name}{what}")?;
            if !next.is_empty() {
                writeln!(out, "  next: {next}")?;
            }
        }
    }
    if checked.problems.is_empty() {
        writeln!(out, "the settings are valid")?;
    }
    Ok(exit)
}

/// Prints every setting with its source, or the problems.
pub(crate) fn run(app: &mut App, args: &ConfigArgs) -> Outcome {
    if let Some(ConfigCommand::Check(args)) = &args.command {
        return check(app, args);
    }
    let config = of(&app.settings);
    if app.out.json {
        app.out.json(&config)?;
        return Ok(Exit::Done);
    }
    let rows = config.settings.into_iter().map(|setting| {
        let value = setting.value.unwrap_or_else(|| "as the transcript has it".to_owned());
        vec![setting.name.to_owned(), value, setting.from]
    });
    write!(app.out, "{}", text::table(&["setting", "value", "from"], rows.collect(), &[]))?;
    if let Some(file) = config.file {
        let dim = app.out.palette.dim;
        writeln!(app.out, "{}", paint(dim, format!("settings file: {file}")))?;
    }
    Ok(Exit::Done)
}

/// The settings with their sources, without secrets.
pub(crate) fn of(settings: &Settings) -> ConfigJson {
    let Settings { file, db, window, model, dialect, color, summariser, meaning, serve: _ } = settings;
    let color_name = format!("{:?}", color.value).to_lowercase();
    let settings = vec![
        row("db", db, Some(db.value.to_string())),
        row("window", window, Some(window.value.to_string())),
        row("model", model, model.value.clone()),
        row("dialect", dialect, dialect.value.map(|dialect| dialect.0.name().to_owned())),
        row("color", color, Some(color_name)),
        SettingJson {
            name: "summariser",
            value: Some(summariser.names().unwrap_or_else(|| "deterministic".to_owned())),
            from: if summariser.is_model() { From::File } else { From::Default }.name(),
        },
        SettingJson {
            name: "meaning",
            value: Some(meaning.name().unwrap_or_else(|| "none: search by words".to_owned())),
            from: if meaning.name().is_some() { From::File } else { From::Default }.name(),
        },
    ];
    ConfigJson { file: file.as_ref().map(|path| path.display().to_string()), settings }
}

fn row<T>(name: &'static str, setting: &Setting<T>, value: Option<String>) -> SettingJson {
    SettingJson { name, value, from: setting.from.name() }
}
