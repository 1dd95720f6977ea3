//! Log lines for changes of pinned files.

use unforget_core::pin::Followed;
use unforget_engine::host::Assembled;

/// Logs the changes of pinned files found while a prompt was made, and the files that the prompt shows in part.
pub fn note(lane: &str, made: &Assembled) {
    for followed in &made.followed {
        match followed {
            Followed::Changed { path, pin } => {
                tracing::info!(lane, path, pin = pin.0, "a pinned file changed: the new text is pinned");
            }
            Followed::Troubled { path, pin, trouble } => tracing::warn!(
                lane,
                path,
                pin = pin.0,
                trouble = trouble.name(),
                next = trouble.hint(),
                "a pinned file {}: its last text stays pinned",
                trouble.words()
            ),
            Followed::Mended { path, pin } => {
                tracing::info!(lane, path, pin = pin.0, "a pinned file can be read again");
            }
        }
    }
    for short in made.short_pins.iter().filter(|_| made.broken.is_some()) {
        let (path, shown, bytes) = (&short.path, short.shown, short.bytes);
        tracing::warn!(
            lane,
            path,
            shown,
            bytes,
            "a pinned file is too long for its share of the prompt: it is shortened"
        );
    }
}
