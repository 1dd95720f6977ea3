//! Changes of files, as the system tells them.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use notify::EventKind;

/// A notification.
pub(super) type Notified = notify::Result<notify::Event>;

/// Waits for notifications, at most for `wait`, and takes all pending ones.
///
/// * `each` - called with every path that was written to.
pub(super) fn hear(told: &Receiver<Notified>, wait: Duration, each: &mut dyn FnMut(&Path)) {
    let mut next = match told.recv_timeout(wait) {
        Ok(event) => Some(event),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => {
            // Nothing will wake us any more.
            std::thread::sleep(wait);
            None
        }
    };
    while let Some(event) = next {
        if let Ok(event) = event
            && !matches!(event.kind, EventKind::Access(_) | EventKind::Remove(_))
        {
            event.paths.iter().for_each(|path| each(path));
        }
        next = told.try_recv().ok();
    }
}
