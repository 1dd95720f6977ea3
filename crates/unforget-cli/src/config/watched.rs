//! The configured models, read again when the settings change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unforget_core::digest::Digest;
use unforget_engine::Engine;
use unforget_engine::summarise::{Model, Summarisers};

use super::{Meaning, Summariser, process_env, read_models};
use crate::failure::Outcome;

/// Settings of models, and their file.
pub(crate) struct ModelSettings {
    /// Read again when it changes; `None` if there is no file.
    pub(crate) file: Option<PathBuf>,
    pub(crate) summariser: Summariser,
    pub(crate) meaning: Meaning,
}

/// The configured models, as of the last valid settings.
pub(crate) struct Watched {
    file: Option<PathBuf>,
    engine: Engine,
    host: Option<Arc<dyn Model>>,
    settings: Summariser,
    meaning: Meaning,
    models: Option<Arc<Summarisers>>,
    /// Digest of the settings file and of the key files.
    seen: Digest,
}

impl Watched {
    /// The models of a settings file that was just read.
    ///
    /// * `host` - the host's own model, if this process serves a host.
    ///
    /// # Errors
    /// If the settings are invalid.
    pub(crate) fn new(
        ModelSettings { file, summariser: settings, meaning }: ModelSettings,
        engine: &Engine,
        host: Option<Arc<dyn Model>>,
    ) -> Outcome<Self> {
        let seen = print(file.as_deref(), &settings, &meaning);
        let models = settings.models(engine, &process_env, host.as_ref())?.map(Arc::new);
        engine.set_meaning(meaning.model(&process_env)?);
        let watched = Self { file, engine: engine.clone(), host, settings, meaning, models, seen };
        watched.want();
        Ok(watched)
    }

    /// The current models.
    pub(crate) fn models(&self) -> Option<Arc<Summarisers>> {
        self.models.clone()
    }

    /// Whether the host's own model may be asked.
    pub(crate) fn asks_host(&self) -> bool {
        self.settings.asks_host()
    }

    /// Reads the settings again if they changed; `None` if they did not. Invalid settings leave the previous ones in
    /// force and are reported once.
    pub(crate) fn look(&mut self) -> Option<Outcome<()>> {
        let seen = print(self.file.as_deref(), &self.settings, &self.meaning);
        let has_changed = seen != self.seen;
        let done = has_changed.then(|| self.read());
        if has_changed {
            // The key files may be different now.
            let is_read = matches!(done, Some(Ok(())));
            let now = || print(self.file.as_deref(), &self.settings, &self.meaning);
            self.seen = if is_read { now() } else { seen };
        }
        self.want();
        done
    }

    fn read(&mut self) -> Outcome<()> {
        let none = || Ok((Summariser::default(), Meaning::default()));
        let (settings, meaning) = self.file.as_deref().map_or_else(none, read_models)?;
        let models = settings.models(&self.engine, &process_env, self.host.as_ref())?.map(Arc::new);
        let vectors = meaning.model(&process_env)?;
        self.engine.set_meaning(vectors);
        (self.models, self.settings, self.meaning) = (models, settings, meaning);
        Ok(())
    }

    /// Lets sessions queue jobs while there is a model to do them.
    fn want(&self) {
        let is_there = self.models.as_ref().is_some_and(|models| models.is_there());
        self.engine.want_models(is_there);
    }
}

/// A digest that changes with the settings file and the key files. Unreadable files count as empty.
fn print(file: Option<&Path>, settings: &Summariser, meaning: &Meaning) -> Digest {
    let keys = settings.key_files().chain(meaning.key_file()).map(PathBuf::as_path);
    let files = file.into_iter().chain(keys);
    let digests: Vec<u8> =
        files.flat_map(|path| Digest::of(&std::fs::read(path).unwrap_or_default()).0).collect();
    Digest::of(&digests)
}

#[cfg(test)]
mod tests {
    use unforget_engine::summarise::{Callback, Cause};

    use super::*;

    #[test]
    fn settings_that_are_not_sound_leave_those_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let (file, key) = (folder.path().join("config.toml"), folder.path().join("key"));
        let write = |text: &str| std::fs::write(&file, text).unwrap();
        let host: Arc<dyn Model> = Arc::new(Callback::new("host", "host", |_| Err(Cause::Absent)));
        let engine = Engine::in_memory();
        let (summariser, meaning) = (Summariser::default(), Meaning::default());
        let settings = ModelSettings { file: Some(file.clone()), summariser, meaning };
        let mut watched = Watched::new(settings, &engine, Some(host)).unwrap();
        assert!(watched.models().is_some() && watched.asks_host(), "the host's own");
        assert!(watched.look().is_none(), "there is no file yet");
        let one = format!("[[summariser.models]]\nkind = \"openai\"\nmodel = \"m\"\nkey_file = {key:?}\n");
        write(&one);
        let failure = watched.look().unwrap().unwrap_err();
        assert!(failure.message.contains("key file"), "{failure:?}");
        assert!(watched.models().is_some() && watched.asks_host(), "those of before");
        assert!(watched.look().is_none(), "it is said once");
        std::fs::write(&key, "letters").unwrap();
        write(&(one.clone() + "\n"));
        watched.look().unwrap().unwrap();
        assert!(!watched.asks_host());
        let sound = watched.models().unwrap();
        std::fs::write(&key, "other-letters").unwrap();
        watched.look().unwrap().unwrap();
        let renewed = watched.models().unwrap();
        assert!(!Arc::ptr_eq(&sound, &renewed), "a new key is another account");
        for bad in ["[[summariser.models]]\nkind = \"magic\"", "[summariser]\nkey = \"sk-letters\"", "oops"] {
            write(bad);
            let failure = watched.look().unwrap().unwrap_err();
            assert!(!failure.message.contains("letters"), "{failure:?}");
            assert!(Arc::ptr_eq(&renewed, &watched.models().unwrap()), "{bad}");
        }
        write("[summariser]\nmodels = []");
        watched.look().unwrap().unwrap();
        assert!(watched.models().is_none());
    }
}
