//! Checks of the daemon's settings, its TLS, and the unit for service managers.
#![cfg(target_os = "linux")]
use crate::support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{Place, text};
use serde_json::Value;
use unforget_server::serve::PATIENCE;

fn with_settings(settings: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".config/unforget")).unwrap();
    place.write(".config/unforget/config.toml", settings);
    place
}

fn setting<'a>(checked: &'a Value, name: &str) -> (&'a str, &'a str) {
    let all = checked["settings"].as_array().unwrap();
    let one = all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {checked}"));
    (one["value"].as_str().unwrap_or("-"), one["from"].as_str().unwrap())
}

#[test]
fn sound_settings_are_shown_with_who_said_them() {
    let place = with_settings(
        "window = \"64k\"\n[serve]\nlisten = \"127.0.0.1:9000\"\ncap = \"150k\"\nbody_max = 1000000\n\
         [serve.windows]\n\"claude-*\" = \"200k\"\n[[serve.upstreams]]\nname = \"a\"\nurl = \"http://127.0.0.1:1\"\nkey_env = \"A_KEY\"\n",
    );
    let check = |args: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.command();
        command.args(["config", "check", "--json"]).args(args).env("A_KEY", "sk-very-secret");
        command.envs(variables.iter().copied());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
        assert!(!text(&output.stdout).contains("very-secret"));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let checked = check(&[], &[]);
    assert_eq!((&checked["problems"], &checked["warnings"]), (&Value::Array(vec![]), &Value::Array(vec![])));
    let table = [
        ("window", ("64000", "file")),
        ("serve.listen", ("127.0.0.1:9000", "file")),
        ("serve.cap", ("150000", "file")),
        ("serve.windows", ("claude-* 200000", "file")),
        ("serve.upstreams", ("a http://127.0.0.1:1/", "file")),
        ("serve.body_max", ("1000000", "file")),
        ("serve.bodies_max", ("4000000", "default")),
        ("serve.recall", ("off", "default")),
        ("serve.tls_cert", ("-", "default")),
    ];
    for (name, want) in table {
        assert_eq!(setting(&checked, name), want, "{name}");
    }
    let checked = check(&["--cap", "90k"], &[("UNFORGET_LISTEN", "127.0.0.1:9001")]);
    assert_eq!(setting(&checked, "serve.cap"), ("90000", "flag"));
    assert_eq!(setting(&checked, "serve.listen"), ("127.0.0.1:9001", "env UNFORGET_LISTEN"));
    let checked = check(&["--listen", "127.0.0.1:9002"], &[("UNFORGET_LISTEN", "127.0.0.1:9001")]);
    assert_eq!(setting(&checked, "serve.listen"), ("127.0.0.1:9002", "flag"));
    assert!(
        text(&place.command().args(["config", "check"]).env("A_KEY", "k").output().unwrap().stdout)
            .contains("valid")
    );
}

#[test]
fn all_that_is_wrong_is_said_with_its_line() {
    let place = with_settings(
        "[serve]\nlisten = \"0.0.0.0:9000\"\ncap = \"much\"\nrecall = \"always\"\ntls_cert = \"nowhere.pem\"\nbody_max = 1000\nbodies_max = 1500\norigins = [\"*\"]\n\
         [serve.windows]\n\"m\" = \"9q\"\n\
         [[serve.upstreams]]\nname = \"a\"\nurl = \"ftp://x\"\n\
         [[serve.upstreams]]\nname = \"b\"\nurl = \"http://127.0.0.1:1\"\napi = \"soap\"\n\
         [[serve.upstreams]]\nname = \"c\"\nurl = \"http://127.0.0.1:1\"\nkey_env = \"NOT_SET_HERE\"\n\
         [[serve.tokens]]\ntenant = \"a b\"\ndigest = \"00\"\n\
         [[summariser.models]]\nkind = \"magic\"\nmodel = \"m\"\n",
    );
    let checked = place.json(&["config", "check"], 1);
    let problems = checked["problems"].as_array().unwrap();
    let found: Vec<(String, Option<u64>)> = problems
        .iter()
        .map(|one| (one["setting"].as_str().unwrap().to_owned(), one["line"].as_u64()))
        .collect();
    let wanted = [
        ("serve.cap", 3),
        ("serve.recall", 4),
        ("serve.tls_cert", 5),
        ("serve.bodies_max", 7),
        ("serve.origins", 8),
        ("serve.windows.\"m\"", 10),
        ("serve.upstreams[0].url", 13),
        ("serve.upstreams[1].api", 17),
        ("serve.upstreams[2].key_env", 21),
        ("serve.tokens[0].tenant", 23),
        ("summariser.models[0]", 25),
    ];
    for (name, line) in wanted {
        assert!(found.contains(&(name.to_owned(), Some(line))), "{name} in line {line}: {found:?}");
    }
    assert_eq!(found.len(), wanted.len(), "{found:?}");
    assert!(problems.iter().all(|one| !one["next"].as_str().unwrap().is_empty()), "{problems:?}");
    assert!(problems.iter().all(|one| one["file"].as_str().unwrap().ends_with("config.toml")));
    assert_eq!(checked["warnings"][0]["setting"], "serve.listen", "no TLS: {}", checked["warnings"]);
    // The output for people; and a daemon does not start with these settings.
    let told = text(&place.run(&["config", "check"], 1).stdout);
    assert!(told.contains("config.toml: line 3: serve.cap: ") && told.contains("next: "), "{told}");
    let failed = place.json(&["serve"], 3);
    assert!(failed["error"]["hint"].as_str().unwrap().contains("config check"), "{failed}");
}

#[test]
fn what_cannot_be_read_at_all_is_said_with_its_line() {
    let table = [
        ("window = 5000\n[serve]\nlisten = \"nowhere\"\n", 3, 0, "not of its kind"),
        ("[serve]\nlistn = \"127.0.0.1:1\"\n", 2, 0, "a typing mistake"),
        ("[serve\n", 1, 3, "no TOML"),
    ];
    for (settings, line, code, why) in table {
        let place = with_settings(settings);
        let checked = place.json(&["config", "check"], 1);
        assert_eq!(checked["problems"][0]["line"], line, "{why}: {checked}");
        assert!(!checked["problems"][0]["next"].as_str().unwrap().is_empty());
        place.run(&["config"], code);
        place.run(&["serve", "--listen", "127.0.0.1:0"], 3);
    }
    let place = Place::new();
    let mut command = place.command();
    let output = command.args(["config", "check", "--json"]).env("UNFORGET_LISTEN", "here").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let checked: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(checked["problems"][0]["setting"], "UNFORGET_LISTEN");
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

/// The certificate and the key of the server's tests.
fn certificate() -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unforget-server/tests/data");
    (folder.join("tls-one.pem"), folder.join("tls-one.key"))
}

#[test]
fn a_daemon_with_tls_is_reached_by_its_own_command_line() {
    let place = Place::imported();
    let (cert, key) = certificate();
    let mut command = Command::new(support::binary());
    command.env_clear().env("HOME", place.path("")).env("UNFORGET_DB", place.path("store.sqlite"));
    command.env("UNFORGET_TLS_KEY", &key).arg("--json").arg("serve");
    command.args(["--listen", "127.0.0.1:0", "--tls-cert"]).arg(&cert);
    let mut child = Killed(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert!(told["url"].as_str().unwrap().starts_with("https://"), "{told}");
    assert_eq!(place.json(&["pin", "pi", "Never touch the boathouse."], 0)["pin"], 1, "through the daemon");
    drop(child);
    let failed = place.json(&["serve", "--tls-cert", "nowhere.pem", "--tls-key", "nowhere.key"], 3);
    assert!(failed["error"]["message"].as_str().unwrap().contains("nowhere.pem"), "{failed}");
    let failed = place.json(&["serve", "--tls-cert", cert.to_str().unwrap()], 3);
    assert!(failed["error"]["message"].as_str().unwrap().contains("has no private key"), "{failed}");
}

fn packaging(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// A value of the unit.
fn of_unit<'a>(unit: &'a str, key: &str) -> &'a str {
    let line = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("{key} is not in the unit"))
}

/// The service manager waits longer than the daemon drains, and uses the signal that starts draining.
#[test]
fn service_managers_let_it_drain() {
    let unit = packaging("unforget.service");
    let stop: u64 = of_unit(&unit, "TimeoutStopSec").parse().unwrap();
    assert!(stop >= PATIENCE.as_secs() + 10, "{stop} s");
    assert_eq!((of_unit(&unit, "KillSignal"), of_unit(&unit, "KillMode")), ("SIGTERM", "mixed"));
    let container = packaging("Containerfile");
    assert!(container.contains("STOPSIGNAL SIGTERM") && container.contains("--stop-timeout 45"));
    // Its commands exist.
    let place = Place::new();
    for key in ["ExecStartPre", "ExecStart"] {
        let words: Vec<&str> = of_unit(&unit, key).split(' ').skip(1).chain(["--help"]).collect();
        place.run(&words, 0);
    }
}

#[test]
fn systemd_finds_nothing_wrong_with_the_unit() {
    let place = Place::new();
    let unit =
        packaging("unforget.service").replace("/usr/bin/unforget", support::binary().to_str().unwrap());
    place.write("unforget.service", &unit);
    let verified = Command::new("systemd-analyze").arg("verify").arg(place.path("unforget.service")).output();
    let Ok(output) = verified else {
        println!("skipped: there is no systemd-analyze");
        return;
    };
    let told = text(&output.stderr);
    let ours: Vec<&str> = told.lines().filter(|line| line.contains("unforget")).collect();
    assert!(output.status.success() && ours.is_empty(), "{told}");
}
