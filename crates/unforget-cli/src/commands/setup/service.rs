//! The service of a user that keeps histories imported.

use std::path::{Path, PathBuf};

use unforget_engine::discover::HostFolders;

use super::addition::Addition;
use super::agents::{SetupPlace, WantedFile};
use crate::config::Env;
use crate::failure::Outcome;

/// Words behind `unforget`.
const WORDS: [&str; 3] = ["--quiet", "keep", "--foreground"];

/// What a service runs.
struct Service {
    /// The program and its arguments.
    words: Vec<String>,
    /// A service does not see those of a shell.
    variables: Vec<MovingVariable>,
}

/// A variable that says where an agent keeps its sessions.
#[derive(Debug, PartialEq, Eq)]
struct MovingVariable {
    name: &'static str,
    value: String,
}

const WHAT: &str = "a service: sessions are imported while they grow";

/// The unit of systemd, or the agent of launchd.
///
/// # Errors
/// Where there is neither.
pub(super) fn file(place: &SetupPlace<'_>) -> Outcome<WantedFile> {
    let words = place.program.iter().cloned().chain(WORDS.map(str::to_owned)).collect();
    let service = Service { words, variables: moving_variables(place.env) };
    if cfg!(target_os = "macos") {
        let path = place.home.join("Library/LaunchAgents/unforget.keep.plist");
        return Ok(WantedFile {
            path,
            what: WHAT,
            additions: vec![Addition::Whole { text: launchd(&service) }],
        });
    }
    if cfg!(target_os = "linux") {
        let named = (place.env)("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = named.unwrap_or_else(|| place.home.join(".config"));
        let path = folder.join("systemd/user/unforget-keep.service");
        return Ok(WantedFile {
            path,
            what: WHAT,
            additions: vec![Addition::Whole { text: systemd(&service) }],
        });
    }
    let hint = "start it with the system in another way: unforget keep --foreground";
    Err(crate::failure::Failure::usage("there is no service for this system", hint))
}

/// The variables that move the folders of agents here and now.
fn moving_variables(env: Env<'_>) -> Vec<MovingVariable> {
    let set = HostFolders::variables().into_iter().filter_map(|name| {
        let value = env(name).filter(|value| Path::new(value).is_absolute())?;
        Some(MovingVariable { name, value })
    });
    set.collect()
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

fn systemd(service: &Service) -> String {
    let quoted = |word: &str| {
        let word = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('\n', "\\n");
        format!("\"{word}\"")
    };
    // Only in a command stands `$` for a variable.
    let command: Vec<String> = service.words.iter().map(|word| quoted(&word.replace('$', "$$"))).collect();
    let line = |MovingVariable { name, value }: &MovingVariable| {
        format!("Environment={}\n", quoted(&format!("{name}={value}")))
    };
    let variables: String = service.variables.iter().map(line).collect();
    format!(
        "# Written by `unforget setup --service`; `unforget setup --service --undo` removes it.\n\
         [Unit]\n\
         Description=Unforget: imports the sessions of agents\n\
         \n\
         [Service]\n\
         {variables}ExecStart={}\n\
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

fn launchd(service: &Service) -> String {
    let escaped = |word: &str| word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let word = |word: &String| format!("    <string>{}</string>\n", escaped(word));
    let words: String = service.words.iter().map(word).collect();
    let variable = |MovingVariable { name, value }: &MovingVariable| {
        format!("    <key>{name}</key>\n    <string>{}</string>\n", escaped(value))
    };
    let variables: String = service.variables.iter().map(variable).collect();
    let variables = match variables.as_str() {
        "" => String::new(),
        all => format!("  <key>EnvironmentVariables</key>\n  <dict>\n{all}  </dict>\n"),
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- Written by `unforget setup service`; undo removes it. -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n<dict>\n\
         \x20 <key>Label</key>\n  <string>unforget.keep</string>\n\
         \x20 <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n{variables}\
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
        let words = vec!["/a b/un%forget".to_owned(), "$x\"<&".to_owned()];
        let mut service = Service { words, variables: Vec::new() };
        assert!(
            systemd(&service).contains("[Service]\nExecStart=\"/a b/un%%forget\" \"$$x\\\"<&\"\n"),
            "{}",
            systemd(&service)
        );
        let plist = launchd(&service);
        assert!(
            plist.contains("    <string>$x\"&lt;&amp;</string>\n  </array>\n  <key>RunAtLoad"),
            "{plist}"
        );
        service.variables = vec![MovingVariable { name: "CODEX_HOME", value: "/c d/$e%<".to_owned() }];
        let unit = systemd(&service);
        assert!(unit.contains("[Service]\nEnvironment=\"CODEX_HOME=/c d/$e%%<\"\nExecStart="), "{unit}");
        let plist = launchd(&service);
        let want = "<dict>\n    <key>CODEX_HOME</key>\n    <string>/c d/$e%&lt;</string>\n  </dict>\n";
        assert!(plist.contains(want), "{plist}");
    }

    #[test]
    fn only_variables_with_a_folder_are_carried() {
        let env = |name: &str| match name {
            "CLAUDE_CONFIG_DIR" => Some("/c".to_owned()),
            "XDG_DATA_HOME" => Some("relative".to_owned()),
            "PATH" => Some("/bin".to_owned()),
            _ => None,
        };
        let want = MovingVariable { name: "CLAUDE_CONFIG_DIR", value: "/c".to_owned() };
        assert_eq!(moving_variables(&env), [want]);
    }
}
