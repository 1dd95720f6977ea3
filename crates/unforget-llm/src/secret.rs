//! Keys: their sources, and how they stay hidden.

use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};
use unforget_core::digest::Digest;

/// A credential. It has no `Display`, its `Debug` hides it, and dropping it wipes the memory.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// A secret from its letters.
    ///
    /// # Errors
    /// [`KeyError::Text`] if it is empty, longer than 16 KiB, or contains characters that are illegal in an HTTP
    /// header. Surrounding white space is removed.
    pub fn new(letters: &str) -> Result<Self, KeyError> {
        let letters = letters.trim();
        let is_sound =
            matches!(letters.len(), 1..=KEY_BYTES_MAX) && letters.bytes().all(|byte| byte.is_ascii_graphic());
        is_sound.then(|| Self(SecretString::from(letters))).ok_or(KeyError::Text)
    }

    /// The letters, for the one header that carries them.
    pub(crate) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Eight hex digits that change with the secret and do not reveal it.
    fn fingerprint(&self) -> String {
        let mut hex = Digest::of(self.expose().as_bytes()).hex();
        hex.truncate(8);
        hex
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// Longest key, in bytes.
const KEY_BYTES_MAX: usize = 16 << 10;

/// The source of a key. No variant holds the key itself: a command line or a configuration file only names its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// No credential, as for local servers.
    None,
    /// An environment variable, by name.
    Env(String),
    /// A file that holds only the key, read when the client is created.
    File(PathBuf),
}

/// A key with the name of its place.
#[derive(Clone, Debug)]
pub struct Key {
    /// `none`, `env:NAME#…`, `file:PATH#…`.
    pub(crate) name: String,
    pub(crate) secret: Option<Secret>,
}

impl KeySource {
    /// Reads the key.
    ///
    /// * `env` - an environment variable by name: `|name| std::env::var(name).ok()`.
    ///
    /// # Errors
    /// A missing key, or one that is illegal in a header. No error contains a letter of it.
    pub fn load(&self, env: &dyn Fn(&str) -> Option<String>) -> Result<Key, KeyError> {
        let (place, letters) = match self {
            Self::None => return Ok(Key { name: "none".to_owned(), secret: None }),
            Self::Env(name) => {
                (format!("env:{name}"), env(name).ok_or_else(|| KeyError::Unset { name: name.clone() })?)
            }
            Self::File(path) => {
                let failed =
                    |source: std::io::Error| KeyError::File { path: path.clone(), kind: source.kind() };
                (format!("file:{}", path.display()), std::fs::read_to_string(path).map_err(failed)?)
            }
        };
        let secret = Secret::new(&letters)?;
        Ok(Key { name: format!("{place}#{}", secret.fingerprint()), secret: Some(secret) })
    }
}

/// Why there is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The variable is not set.
    #[error("the environment variable {name} is not set")]
    Unset {
        /// Its name.
        name: String,
    },
    /// The file cannot be read.
    #[error("the key file {} cannot be read: {kind}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        kind: std::io::ErrorKind,
    },
    /// The content cannot be a key.
    #[error("the key is empty, too long, or has characters that are illegal in a header")]
    Text,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const LETTERS: &str = "hunter2-not-a-real-key";

    #[test]
    fn f108_a_secret_shows_nowhere() {
        let secret = Secret::new(LETTERS).unwrap();
        let key = KeySource::Env("K".into()).load(&|_| Some(LETTERS.into())).unwrap();
        for shown in [format!("{secret:?}"), format!("{secret:#?}"), format!("{key:?}"), key.name] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        assert_eq!(secret.expose(), LETTERS);
    }

    #[test]
    fn keys_come_from_their_places() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, format!("{LETTERS}\n")).unwrap();
        let env = |name: &str| match name {
            "SET" => Some(format!(" {LETTERS}\n")),
            "EMPTY" => Some(" \n".to_owned()),
            "BREAKS" => Some("a\r\nx-evil: 1".to_owned()),
            "WIDE" => Some("ключ".to_owned()),
            _ => None,
        };
        let load = |source: KeySource| source.load(&env);
        let set = load(KeySource::Env("SET".into())).unwrap();
        assert_eq!(set.secret.unwrap().expose(), LETTERS, "space is taken off");
        let file = load(KeySource::File(path)).unwrap();
        assert_eq!(file.secret.unwrap().expose(), LETTERS);
        assert_eq!(set.name.rsplit_once('#').unwrap().1, file.name.rsplit_once('#').unwrap().1);
        assert!(load(KeySource::None).unwrap().secret.is_none());
        assert_eq!(load(KeySource::Env("X".into())).unwrap_err(), KeyError::Unset { name: "X".into() });
        for name in ["EMPTY", "BREAKS", "WIDE"] {
            assert_eq!(load(KeySource::Env(name.into())).unwrap_err(), KeyError::Text, "{name}");
        }
        let gone = folder.path().join("gone");
        let kind = std::io::ErrorKind::NotFound;
        assert_eq!(load(KeySource::File(gone.clone())).unwrap_err(), KeyError::File { path: gone, kind });
    }

    #[test]
    fn another_key_is_another_account() {
        let name = |letters: &str| KeySource::Env("K".into()).load(&|_| Some(letters.into())).unwrap().name;
        assert_ne!(name("one-key"), name("other-key"));
        assert_eq!(name("one-key"), name("one-key"));
    }
}
