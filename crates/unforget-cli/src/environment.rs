//! The variables of the environment, and the folders of programs that they name.

use std::path::PathBuf;

/// Looks up an environment variable; empty ones count as unset.
pub(crate) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An absolute folder from a variable; relative ones are ignored, as the XDG specification requires.
fn folder(env: Env<'_>, name: &str) -> Option<PathBuf> {
    env(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Where programs keep their data.
pub(crate) fn data_folder(env: Env<'_>) -> Option<PathBuf> {
    let home = || folder(env, "HOME");
    if cfg!(windows) {
        return folder(env, "LOCALAPPDATA");
    }
    folder(env, "XDG_DATA_HOME").or_else(|| {
        let below = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };
        Some(home()?.join(below))
    })
}

/// Where programs keep what they remember between two runs.
pub(crate) fn state_folder(env: Env<'_>) -> Option<PathBuf> {
    if cfg!(windows) || cfg!(target_os = "macos") {
        return data_folder(env);
    }
    folder(env, "XDG_STATE_HOME").or_else(|| Some(folder(env, "HOME")?.join(".local/state")))
}

/// Where programs keep their settings.
pub(crate) fn config_folder(env: Env<'_>) -> Option<PathBuf> {
    if cfg!(windows) {
        return folder(env, "APPDATA");
    }
    folder(env, "XDG_CONFIG_HOME").or_else(|| Some(folder(env, "HOME")?.join(".config")))
}

/// Looks up a variable of the process's environment.
pub(crate) fn process_env(name: &str) -> Option<String> {
    std::env::var_os(name).and_then(|value| value.into_string().ok()).filter(|value| !value.is_empty())
}
