//! Properties of every command: JSON only on stdout, colours, pipes, help.

use crate::support;

use std::io::Read;
use std::process::{Command, Stdio};

use crate::support::{Place, binary, example, text};

#[test]
fn with_json_stdout_is_json_also_for_errors() {
    let place = Place::imported();
    let table: [(&[&str], i32); 14] = [
        (&["list"], 0),
        (&["show", "pi:"], 0),
        (&["stats"], 0),
        (&["search", "heron"], 0),
        (&["grep", "heron"], 0),
        (&["prompt", "pi:"], 0),
        (&["verify"], 0),
        (&["doctor"], 0),
        (&["config"], 0),
        (&["purge", "pi:"], 2),
        (&["show", "nobody"], 2),
        (&["search"], 2),
        (&["import", "nowhere"], 3),
        (&["replay", "nowhere"], 3),
    ];
    for (args, exit) in table {
        assert!(!place.json_lines(args, exit).is_empty(), "{args:?}");
    }
}

#[test]
fn a_pipe_has_no_colours_unless_they_are_forced() {
    let place = Place::imported();
    let coloured = |args: &[&str], no_color: bool| {
        let mut command = place.command();
        if no_color {
            command.env("NO_COLOR", "1");
        }
        command.args(args).output().unwrap().stdout.contains(&0x1b)
    };
    assert!(!coloured(&["show", "pi:"], false), "a pipe");
    assert!(!coloured(&["show", "pi:", "--color", "never"], false), "told not to");
    assert!(!coloured(&["show", "pi:"], true), "NO_COLOR");
    assert!(coloured(&["show", "pi:", "--color", "always"], true), "told to: nearer than the environment");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    for args in [&["man"][..], &["replay", &example("long-session.jsonl"), "--json"][..]] {
        let mut command = Command::new(binary());
        command.args(args).env("UNFORGET_DB", place.path("x.sqlite")).env("TMPDIR", place.path(""));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 10]).unwrap();
        drop(out);
        let done = child.wait_with_output().unwrap();
        assert_eq!((done.status.code(), text(&done.stderr)), (Some(0), String::new()), "{args:?}");
    }
}

#[test]
fn progress_stays_out_of_pipes() {
    let place = Place::new();
    place.write("pi.jsonl", support::PI);
    let output = place.run(&["replay", "pi.jsonl"], 0);
    assert_eq!(text(&output.stderr), "", "no bar where nobody sees it");
}

#[test]
fn help_names_every_command_and_exit_code() {
    let place = Place::new();
    let help = text(&place.run(&["--help"], 0).stdout);
    for part in ["replay", "import", "purge", "Exit codes", "4  the store is busy"] {
        assert!(help.contains(part), "{part}");
    }
    let man = text(&place.run(&["man"], 0).stdout);
    assert!(man.contains(".TH unforget") && man.contains("UNFORGET REPLAY") && man.contains("Exit codes"));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(text(&place.run(&["completions", shell], 0).stdout).contains("UNFORGET_COMPLETE"), "{shell}");
    }
    place.run(&["completions", "cobol"], 2);
}

#[test]
fn config_says_who_said_what() {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".config/unforget")).unwrap();
    place.write(".config/unforget/config.toml", "window = 64000\n");
    let config = place.json(&["config"], 0);
    let from = |name: &str| {
        let settings = config["settings"].as_array().unwrap();
        settings.iter().find(|setting| setting["name"] == name).unwrap()["from"].clone()
    };
    assert_eq!((from("db"), from("model")), ("env UNFORGET_DB".into(), "default".into()));
    if cfg!(target_os = "linux") {
        assert_eq!(from("window"), "file");
        place.write(".config/unforget/config.toml", "windwo = 64000\n");
        let said = text(&place.run(&["config"], 3).stderr);
        assert!(said.contains("line 1") && said.contains("did you mean window?"), "{said}");
        // Who only reads needs no daemon.
        place.write(".config/unforget/config.toml", "window = 64000\n[serve]\nlistn = \"127.0.0.1:1\"\n");
        place.write("pi.jsonl", support::PI);
        place.run(&["import", "pi.jsonl", "-q"], 0);
        let said = text(&place.run(&["list"], 0).stderr);
        assert!(said.contains("line 3") && said.contains("did you mean listen?"), "{said}");
        place.run(&["serve"], 3);
        let said = text(&place.run(&["config", "check"], 1).stdout);
        assert!(said.contains("line 3") && said.contains("did you mean listen?"), "{said}");
    }
}

#[test]
fn a_busy_store_is_said_and_can_be_read() {
    let place = Place::imported();
    let lock = std::fs::File::options().write(true).open(place.path("store.sqlite.lock")).unwrap();
    lock.lock().unwrap();
    place.write("more.jsonl", support::PI);
    let error = place.json_lines(&["import", "more.jsonl"], 4);
    assert_eq!(error[0]["error"]["kind"], "busy");
    assert!(!place.json(&["search", "heron"], 0)["results"].as_array().unwrap().is_empty());
    assert_eq!(place.json(&["list"], 0).as_array().unwrap().len(), 2);
}

#[test]
fn benches_run() {
    let place = Place::new();
    let growth = place.json(&["bench", "growth", "--sizes", "40,80", "--turns", "2"], 0);
    assert_eq!(growth["sizes"].as_array().unwrap().len(), 2);
    assert!(growth["growth"]["commit_p50"].is_number());
    assert!(place.json(&["bench", "import", "--messages", "40"], 0)["speedup"].is_number());
    assert!(place.json(&["bench", "grep", "--messages", "40"], 0)[0]["ours"]["p50"].is_number());
    let locomo = r#"[{"conversation":{"session_1_date_time":"1:56 pm on 8 May, 2023","session_1":[
        {"speaker":"Ada","dia_id":"D1:1","text":"I bought a red canoe."},
        {"speaker":"Bo","dia_id":"D1:2","text":"Nice weather today."}]},
        "qa":[{"question":"What did Ada buy? A canoe?","answer":"canoe","category":4,"evidence":["D1:1"]}]}]"#;
    place.write("locomo.json", locomo);
    let recall = place.json(&["bench", "recall", "locomo.json"], 0);
    assert_eq!(recall["all"]["r5"], 1.0);
    place.write("other.json", "[]");
    place.run(&["bench", "recall", "other.json"], 3);
}
