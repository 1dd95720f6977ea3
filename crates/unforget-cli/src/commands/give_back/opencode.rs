//! Lets opencode take in a session: it keeps a database that is its own.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::text::plural;

/// How long opencode may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// Interval of looking whether it ended.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes read of what it says.
const SAID_BYTES: u64 = 16 * 1024;

/// Lets opencode take in a file. It changes no message that it has.
///
/// * `folder` - of the session.
///
/// # Errors
/// Why it did not, for a person.
pub(super) fn take_in(path: &Path, folder: &str) -> Result<(), String> {
    let mut command = Command::new("opencode");
    command.arg("import").arg(path).current_dir(folder);
    run(command, PATIENCE)
}

/// Runs a command until it ends well.
fn run(mut command: Command, patience: Duration) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A file, not a pipe: what the command leaves running may hold a pipe open for ever.
    let mut said = tempfile::tempfile().map_err(|error| format!("no temporary file: {error}"))?;
    let errors = said.try_clone().map_err(|error| format!("no temporary file: {error}"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("{name} is not installed here"),
        _ => format!("{name} cannot be started: {error}"),
    })?;
    let Some(status) = ended(&mut child, patience).map_err(|error| format!("{name} got lost: {error}"))?
    else {
        return Err(format!("{name} was ended after {}", plural(patience.as_secs(), "second")));
    };
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    said.seek(SeekFrom::Start(0)).and_then(|_| said.take(SAID_BYTES).read_to_end(&mut text)).ok();
    let text = String::from_utf8_lossy(&text).into_owned();
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    Err(last.map_or_else(|| format!("{name} ended with {status}"), |last| format!("{name} says: {last}")))
}

/// How a command ended; `None` if it took too long and was ended, with all that it started.
fn ended(child: &mut Child, patience: Duration) -> std::io::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() >= patience {
            break;
        }
        sleep(LOOK);
    }
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        rustix::process::kill_process_group(pid, rustix::process::Signal::KILL).ok();
    }
    child.kill().ok();
    child.wait()?;
    Ok(None)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_quoted_and_one_that_hangs_is_ended() {
        let table = [
            ("exit 0", None, "it ends well"),
            ("echo begun; echo 'no room' >&2; exit 3", Some("sh says: no room"), "its last words"),
            ("exit 3", Some("sh ended with exit status: 3"), "without words"),
            ("sleep 600 & sleep 600", Some("sh was ended after 0 seconds"), "it hangs"),
        ];
        for (script, want, why) in table {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            let patience = if script.contains("600") { Duration::from_millis(200) } else { PATIENCE };
            assert_eq!(run(command, patience).err().as_deref(), want, "{why}");
        }
        let missing = run(Command::new("/nosuch/opencode"), PATIENCE).err();
        assert_eq!(missing.as_deref(), Some("/nosuch/opencode is not installed here"));
    }
}
