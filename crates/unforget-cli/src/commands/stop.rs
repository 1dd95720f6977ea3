//! `unforget stop`: ends the daemon that owns the database.

use serde::Serialize;

use crate::app::App;
use crate::args::StopArgs;
use crate::failure::{Exit, Outcome};
use crate::remote::Remote;
use crate::text;
use unforget_server::serve::runs::DaemonJson;

/// The result, with `--json`.
#[derive(Serialize)]
struct StoppedJson {
    /// The daemon as it was; null if none runs.
    stopped: Option<DaemonJson>,
}

/// Ends the daemon. It completes running calls first.
pub(crate) fn run(app: &mut App, args: &StopArgs) -> Outcome {
    let stopped = match Remote::of(&app.settings.db.value) {
        None => None,
        Some(remote) => Some(remote.end_daemon(args.force)?),
    };
    if app.out.json {
        app.out.json(&StoppedJson { stopped })?;
        return Ok(Exit::Done);
    }
    match stopped {
        None => app.out.note("no daemon has this database"),
        Some(daemon) => {
            let calls = text::plural(daemon.calls as u64, "running call");
            app.out.note(format_args!("process {} ends, after {calls}", daemon.pid));
        }
    }
    Ok(Exit::Done)
}
