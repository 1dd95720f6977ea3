//! `unforget config`.

use std::io::Write;

use crate::app::App;
use crate::config::{From, Setting, Settings};
use crate::failure::{Exit, Outcome};
use crate::json::{ConfigJson, SettingJson};
use crate::output::paint;
use crate::text;

/// Every setting and who said it.
pub(crate) fn run(app: &mut App) -> Outcome {
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

/// The settings and who said them; secrets are not among them.
pub(crate) fn of(settings: &Settings) -> ConfigJson {
    let Settings { file, db, window, model, dialect, color, summariser, serve: _ } = settings;
    let color_name = format!("{:?}", color.value).to_lowercase();
    let settings = vec![
        row("db", db, Some(db.value.display().to_string())),
        row("window", window, Some(window.value.to_string())),
        row("model", model, model.value.clone()),
        row("dialect", dialect, dialect.value.map(|dialect| dialect.0.name().to_owned())),
        row("color", color, Some(color_name)),
        SettingJson {
            name: "summariser",
            value: Some(summariser.names().unwrap_or_else(|| "deterministic".to_owned())),
            from: if summariser.is_model() { From::File } else { From::Default }.name(),
        },
    ];
    ConfigJson { file: file.as_ref().map(|path| path.display().to_string()), settings }
}

fn row<T>(name: &'static str, setting: &Setting<T>, value: Option<String>) -> SettingJson {
    SettingJson { name, value, from: setting.from.name() }
}
