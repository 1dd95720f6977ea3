//! The service of a user that keeps histories imported.

use std::path::PathBuf;

use super::addition::Addition;
use super::agents::{SetupPlace, WantedFile};
use crate::failure::Outcome;

/// Words behind `unforget`.
const WORDS: [&str; 3] = ["--quiet", "keep", "--foreground"];

const WHAT: &str = "a service: sessions are imported while they grow";

/// The unit of systemd, or the agent of launchd.
///
/// # Errors
/// Where there is neither.
pub(super) fn file(place: &SetupPlace<'_>) -> Outcome<WantedFile> {
    let words: Vec<String> = place.program.iter().cloned().chain(WORDS.map(str::to_owned)).collect();
    if cfg!(target_os = "macos") {
        let path = place.home.join("Library/LaunchAgents/unforget.keep.plist");
        return Ok(WantedFile {
            path,
            what: WHAT,
            additions: vec![Addition::Whole { text: launchd(&words) }],
        });
    }
    if cfg!(target_os = "linux") {
        let named = (place.env)("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = named.unwrap_or_else(|| place.home.join(".config"));
        let path = folder.join("systemd/user/unforget-keep.service");
        return Ok(WantedFile {
            path,
            what: WHAT,
            additions: vec![Addition::Whole { text: systemd(&words) }],
        });
    }
    let hint = "start it with the system in another way: unforget keep --foreground";
    Err(crate::failure::Failure::usage("there is no service for this system", hint))
}

/// What is left for the person to do.
pub(super) const fn next(is_undo: bool) -> &'static str {
    match (cfg!(target_os = "macos"), is_undo) {
        (true, false) => "start it: launchctl load -w ~/Library/LaunchAgents/unforget.keep.plist",
        (true, true) => "it runs until you log out: launchctl remove unforget.keep ends it",
        (false, false) => {
            "start it: systemctl --user daemon-reload && systemctl --user enable --now unforget-keep"
        }
        (false, true) => {
            "it may still run: systemctl --user disable --now unforget-keep && systemctl --user daemon-reload"
        }
    }
}

fn systemd(words: &[String]) -> String {
    let quoted = |word: &String| {
        let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
        format!("\"{word}\"")
    };
    let command: Vec<String> = words.iter().map(quoted).collect();
    format!(
        "# Written by `unforget setup --service`; `unforget setup --service --undo` removes it.\n\
         [Unit]\n\
         Description=Unforget: imports the sessions of agents\n\
         \n\
         [Service]\n\
         ExecStart={}\n\
         Restart=on-failure\n\
         RestartSec=30\n\
         Nice=10\n\
         NoNewPrivileges=yes\n\
         UMask=0077\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        command.join(" ")
    )
}

fn launchd(words: &[String]) -> String {
    let escaped = |word: &String| word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let words: Vec<String> =
        words.iter().map(|word| format!("    <string>{}</string>\n", escaped(word))).collect();
    let words = words.concat();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- Written by `unforget setup service`; undo removes it. -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n\
         \x20 <key>Label</key>\n  <string>unforget.keep</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n\
         \x20 <key>RunAtLoad</key>\n  <true/>\n\
         \x20 <key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n\
         \x20 <key>LowPriorityIO</key>\n  <true/>\n\
         </dict>\n</plist>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_each_system() {
        let words = ["/a b/un%forget".to_owned(), "$x\"<&".to_owned()];
        assert!(
            systemd(&words).contains("ExecStart=\"/a b/un%%forget\" \"$$x\\\"<&\"\n"),
            "{}",
            systemd(&words)
        );
        let plist = launchd(&words);
        assert!(plist.contains("    <string>$x\"&lt;&amp;</string>\n"), "{plist}");
    }
}
