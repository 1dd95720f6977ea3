//! Settings: the values of options that the command line leaves out, and their sources.

mod check;
mod meaning;
mod serve;
mod summariser;
mod watched;

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use unforget_engine::discover::HostFolders;

use crate::database::Database;
pub(crate) use crate::environment::{Env, process_env, state_folder};
use crate::environment::{config_folder, data_folder};
use crate::failure::{Failure, Outcome};
use crate::output::Color;
use crate::overrides::{Global, ShapeArgs};
use crate::value::{self, Dialect};

pub(crate) use check::{Wrong, line};
pub(crate) use meaning::Meaning;
pub(crate) use serve::{Serve, Serving};
pub(crate) use summariser::Summariser;
pub(crate) use watched::{ModelSettings, Watched};

/// Default window of prompts, in tokens.
const WINDOW: u64 = 200_000;

/// The source of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// The command line.
    Flag,
    /// The environment variable with this name.
    Env(&'static str),
    /// The settings file.
    File,
    /// No source: the default.
    Default,
}

impl From {
    /// Its name for people and scripts.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Flag => "flag".to_owned(),
            Self::Env(name) => format!("env {name}"),
            Self::File => "file".to_owned(),
            Self::Default => "default".to_owned(),
        }
    }
}

/// A setting with its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    /// Its value.
    pub(crate) value: T,
    /// Its source.
    pub(crate) from: From,
}

/// All settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The settings file, whether or not it exists.
    pub(crate) file: Option<PathBuf>,
    /// The database.
    pub(crate) db: Setting<Database>,
    /// Window of prompts, in tokens.
    pub(crate) window: Setting<u64>,
    /// The model that prompts are for.
    pub(crate) model: Setting<Option<String>>,
    /// The dialect of prompts; `None` stands for that of the transcript's host.
    pub(crate) dialect: Setting<Option<Dialect>>,
    /// When to use colours.
    pub(crate) color: Setting<Color>,
    /// The models that write summaries, from the settings file only.
    pub(crate) summariser: Summariser,
    /// The model of vectors, from the settings file only.
    pub(crate) meaning: Meaning,
    /// The settings of the daemon.
    pub(crate) serve: Serve,
}

/// The settings file. An unknown key is an error, since it may be a typing mistake.
///
/// * `S` - the table of the daemon.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, bound = "S: Deserialize<'de> + Default")]
struct File<S = Serve> {
    db: Option<PathBuf>,
    window: Option<Window>,
    model: Option<String>,
    dialect: Option<String>,
    color: Option<String>,
    summariser: Summariser,
    meaning: Meaning,
    serve: S,
}

/// Tokens, as a number or in a short form such as `200k`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Window {
    Number(u64),
    Text(String),
}

impl Window {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    fn tokens(&self) -> Result<u64, String> {
        value::window(&self.text())
    }
}

impl Settings {
    /// Settings of the models that write summaries, and their file.
    pub(crate) fn models(&self) -> ModelSettings {
        let (summariser, meaning) = (self.summariser.clone(), self.meaning.clone());
        ModelSettings { file: self.file.clone(), summariser, meaning }
    }

    /// Settings from the command line, the environment and the settings file, in this order of priority.
    ///
    /// # Errors
    /// If the file exists and is invalid, or a variable has an unusable value.
    pub(crate) fn new(global: &Global, env: Env<'_>) -> Outcome<Self> {
        let path = config_folder(env).map(|folder| folder.join("unforget").join("config.toml"));
        let file = path.as_deref().map_or_else(|| Ok(File::default()), read)?;
        let window = file.window.as_ref().map(Window::text);
        let db = pick(global.db.clone(), env, "UNFORGET_DB", file.db, |text| Ok(PathBuf::from(text)))?;
        let default_db = || default_db(env);
        let window = parse_pick(None, env, "UNFORGET_WINDOW", window, value::window)?;
        let model = pick(None, env, "UNFORGET_MODEL", file.model, |text| Ok(text.to_owned()))?;
        let dialect = parse_pick(None, env, "UNFORGET_DIALECT", file.dialect, str::parse::<Dialect>)?;
        let color = parse_pick(global.color, env, "UNFORGET_COLOR", file.color, parse_color)?;
        Ok(Self {
            file: path,
            db: match db {
                Some(db) => database(db)?,
                None => Setting { value: Database::File(default_db()?), from: From::Default },
            },
            window: window.unwrap_or(Setting { value: WINDOW, from: From::Default }),
            model: optional(model),
            dialect: optional(dialect),
            color: color.unwrap_or(Setting { value: Color::Auto, from: From::Default }),
            summariser: file.summariser,
            meaning: file.meaning,
            serve: file.serve,
        })
    }

    /// The settings, overridden by a command's options.
    pub(crate) fn with_shape(mut self, shape: &ShapeArgs) -> Self {
        let flag = From::Flag;
        if let Some(value) = shape.window {
            self.window = Setting { value, from: flag };
        }
        if shape.model.is_some() {
            self.model = Setting { value: shape.model.clone(), from: flag };
        }
        if shape.dialect.is_some() {
            self.dialect = Setting { value: shape.dialect, from: flag };
        }
        self
    }
}

/// The place of the database. A failure does not repeat the text, which may hold a password.
fn database(setting: Setting<PathBuf>) -> Outcome<Setting<Database>> {
    let Setting { value, from } = setting;
    let value = Database::new(value).map_err(|why| {
        let message = format!("the address of the database ({}) cannot be used: {why}", from.name());
        Failure::usage(
            message,
            "postgres://user@host/database names one on a server; docs/postgres.md says more",
        )
    })?;
    Ok(Setting { value, from })
}

fn optional<T>(setting: Option<Setting<T>>) -> Setting<Option<T>> {
    match setting {
        Some(Setting { value, from }) => Setting { value: Some(value), from },
        None => Setting { value: None, from: From::Default },
    }
}

/// The first source with a value: flag, environment, file.
fn pick<T>(
    flag: Option<T>,
    env: Env<'_>,
    name: &'static str,
    file: Option<T>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Outcome<Option<Setting<T>>> {
    if let Some(value) = flag {
        return Ok(Some(Setting { value, from: From::Flag }));
    }
    if let Some(text) = env(name) {
        let value = parse(&text).map_err(|what| {
            Failure::usage(
                format!("{name} is {text:?}: {what}"),
                "set the variable to a valid value, or unset it",
            )
        })?;
        return Ok(Some(Setting { value, from: From::Env(name) }));
    }
    Ok(file.map(|value| Setting { value, from: From::File }))
}

/// Like [`pick`], for settings that are text in the file too.
fn parse_pick<T>(
    flag: Option<T>,
    env: Env<'_>,
    name: &'static str,
    file: Option<String>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Outcome<Option<Setting<T>>> {
    let file = file.map(|text| {
        parse(&text).map_err(|what| {
            let field = name.trim_start_matches("UNFORGET_").to_ascii_lowercase();
            Failure::input(
                "config",
                format!("{field} = {text:?} in the settings file: {what}"),
                "correct the setting in the settings file",
            )
        })
    });
    pick(flag, env, name, file.transpose()?, parse)
}

fn parse_color(text: &str) -> Result<Color, String> {
    <Color as clap::ValueEnum>::from_str(text, true).map_err(|_| "write auto, always or never".to_owned())
}

fn read(path: &Path) -> Outcome<File> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => return Err(Failure::file(path, &error)),
    };
    let failure = match parse(&text) {
        Ok(file) => return Ok(file),
        Err(Misread { line, what, next }) => {
            Failure::input("config", format!("{}: line {line}: {what}", path.display()), next)
        }
    };
    // Who only reads needs nothing of the daemon's table.
    let Ok(beside) = toml::from_str::<File<IgnoredAny>>(&text) else { return Err(failure) };
    let File { db, window, model, dialect, color, summariser, meaning, serve: _ } = beside;
    Ok(File { db, window, model, dialect, color, summariser, meaning, serve: Serve::unread(failure) })
}

/// The advice about an invalid settings file.
const NEXT: &str =
    "it may hold db, window, model, dialect, color and the tables summariser, meaning and serve";

/// What is wrong in the text of a settings file.
struct Misread {
    /// Its line, from 1.
    line: usize,
    what: String,
    next: String,
}

/// Parses a settings file.
fn parse(text: &str) -> Result<File, Misread> {
    toml::from_str(text).map_err(|error| {
        // Without the line itself: somebody may have put a key there.
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Misread { line, what: error.message().to_owned(), next: advice(error.message()) }
    })
}

/// The advice about an error: the name that was probably meant, if a name is unknown.
///
/// * `message` - as serde words it: the unknown name and then the known ones, each between backticks.
fn advice(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let Some(typed) = names.next().filter(|_| message.starts_with("unknown ")) else {
        return NEXT.to_owned();
    };
    let known: Vec<&str> = names.collect();
    let distance = |name: &&str| strsim::damerau_levenshtein(typed, name);
    match known.iter().copied().min_by_key(distance).filter(|name| distance(name) <= 2) {
        Some(name) => format!("did you mean {name}?"),
        None if known.contains(&"serve") => NEXT.to_owned(),
        None => format!("it may hold {}", known.join(", ")),
    }
}

/// The settings file, if it exists: its path and its text.
pub(crate) fn file(env: Env<'_>) -> Option<(PathBuf, String)> {
    let path = config_folder(env)?.join("unforget").join("config.toml");
    let text = std::fs::read_to_string(&path).ok()?;
    Some((path, text))
}

/// The syntax error of a settings file, and its line.
pub(crate) fn broken(text: &str) -> Option<(usize, Wrong)> {
    let Misread { line, what, next } = parse(text).err()?;
    Some((line, Wrong::new("", what, next)))
}

/// The present tables `summariser` and `meaning` of a settings file.
pub(crate) fn read_models(path: &Path) -> Outcome<(Summariser, Meaning)> {
    let file = read(path)?;
    Ok((file.summariser, file.meaning))
}

fn default_db(env: Env<'_>) -> Outcome<PathBuf> {
    let folder = data_folder(env).ok_or_else(|| {
        Failure::usage("there is no home folder to keep the database in", "name one with --db or UNFORGET_DB")
    })?;
    Ok(folder.join("unforget").join("unforget.sqlite"))
}

/// Where the hosts of the person have their files; `None` without a home folder.
pub(crate) fn host_folders() -> Option<HostFolders> {
    let home = process_env(if cfg!(windows) { "USERPROFILE" } else { "HOME" })?;
    Some(HostFolders::new(home, &process_env))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_voice_wins() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap().to_owned();
        std::fs::create_dir(folder.path().join("unforget")).unwrap();
        let file = folder.path().join("unforget/config.toml");
        std::fs::write(&file, "window = \"32k\"\ndb = \"/file.sqlite\"\n").unwrap();
        let flag = Global { db: Some("/flag.sqlite".into()), ..Global::default() };
        let table = [
            (flag, Some("/env.sqlite"), "/flag.sqlite", From::Flag),
            (Global::default(), Some("/env.sqlite"), "/env.sqlite", From::Env("UNFORGET_DB")),
            (Global::default(), None, "/file.sqlite", From::File),
        ];
        for (global, variable, want, from) in table {
            let env = |name: &str| match name {
                "XDG_CONFIG_HOME" => Some(root.clone()),
                "UNFORGET_DB" => variable.map(str::to_owned),
                _ => None,
            };
            let settings = Settings::new(&global, &env).unwrap();
            assert_eq!(settings.db, Setting { value: want.into(), from });
            assert_eq!(settings.window, Setting { value: 32_000, from: From::File });
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_default_database_is_in_the_data_folder() {
        let table = [
            (Some("/data"), "/data/unforget/unforget.sqlite", "named"),
            (Some("data"), "/home/x/.local/share/unforget/unforget.sqlite", "relative: ignored"),
            (None, "/home/x/.local/share/unforget/unforget.sqlite", "usual"),
        ];
        for (data, want, why) in table {
            let env = |name: &str| match name {
                "HOME" => Some("/home/x".to_owned()),
                "XDG_DATA_HOME" => data.map(str::to_owned),
                _ => None,
            };
            let settings = Settings::new(&Global::default(), &env).unwrap();
            assert_eq!(settings.db.value, Database::from(want), "{why}");
        }
    }

    #[test]
    fn advice_table() {
        let table = [
            ("unknown field `windwo`, expected one of `db`, `window`, `serve`", "did you mean window?"),
            ("unknown field `listn`, expected one of `listen`, `hosts`", "did you mean listen?"),
            ("unknown field `colour`, expected `colours` or `hosts`", "did you mean colours?"),
            ("unknown field `zebra`, expected one of `listen`, `hosts`", "it may hold listen, hosts"),
            ("unknown field `zebra`, expected one of `db`, `serve`", NEXT),
            ("invalid type: string \"x\", expected u64", NEXT),
        ];
        for (message, want) in table {
            assert_eq!(advice(message), want, "{message}");
        }
    }

    /// A slip in the daemon's table is told by those who need the table, and stops nobody else.
    #[test]
    fn a_misread_table_of_the_daemon_stops_the_daemon_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        std::fs::write(&path, "window = 5000\n[serve]\nlistn = \"127.0.0.1:1\"\n").unwrap();
        let file = read(&path).unwrap();
        assert_eq!(file.window.map(|window| window.text()), Some("5000".to_owned()));
        let misread = file.serve.misread().cloned().unwrap();
        assert!(misread.message.contains("line 3") && misread.hint == "did you mean listen?", "{misread:?}");
        let failed = file.serve.with(&crate::overrides::ServeArgs::default(), &|_| None).err();
        assert_eq!(failed, Some(misread));
        std::fs::write(&path, "windwo = 5000\n").unwrap();
        assert!(read(&path).is_err(), "a table that all need");
        std::fs::write(&path, "[serve\n").unwrap();
        assert!(read(&path).is_err(), "no TOML");
    }

    #[test]
    fn unusable_values_are_errors_with_their_name() {
        let env = |name: &str| (name == "UNFORGET_WINDOW").then(|| "huge".to_owned());
        let failure = Settings::new(&Global { db: Some("x".into()), ..Global::default() }, &env).unwrap_err();
        assert!(failure.message.contains("UNFORGET_WINDOW"), "{failure:?}");
    }
}
