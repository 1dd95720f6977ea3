//! `unforget setup`: agents' own files, edited and restored.

use crate::support::{Place, text};

fn read(place: &Place, path: &str) -> String {
    std::fs::read_to_string(place.path(path)).unwrap_or_default()
}

#[test]
fn setup_asks_before_it_changes_anything() {
    let place = Place::new();
    let output = place.run(&["setup", "claude"], 2);
    assert!(text(&output.stdout).contains("settings.json") && text(&output.stdout).contains("SessionEnd"));
    assert!(text(&output.stderr).contains("nothing was changed"));
    assert!(!place.path(".claude").exists());
    let plan = place.json(&["setup", "claude"], 0);
    assert_eq!((&plan["done"], &plan["changes"][0]["change"]), (&false.into(), &"create".into()));
    assert!(plan["remarks"].to_string().contains("30 days"), "{plan}");
}

#[test]
fn every_agent_is_set_up_once_and_restored_byte_for_byte() {
    let place = Place::new();
    let files = [
        (
            ".claude/settings.json",
            "{\n    \"model\": \"opus\",\n    \"hooks\": {\"Stop\": [ ]},\n    \"n\": 1.00\n}",
        ),
        (".claude.json", "{\"mcpServers\":{\"other\":{\"command\":\"x\"}},\"numStartups\":12}"),
        (".codex/config.toml", "# mine\nmodel = \"gpt-5\"\n\n[mcp_servers.other]\ncommand = 'x'\n"),
        (".config/opencode/opencode.json", "{\n\t\"$schema\": \"https://opencode.ai/config.json\"\n}\n"),
        (".gemini/settings.json", "{}"),
    ];
    for (path, content) in files {
        std::fs::create_dir_all(place.path(path).parent().unwrap()).unwrap();
        place.write(path, content);
    }
    let agents = ["claude", "codex", "opencode", "gemini", "pi"];
    for agent in agents {
        place.run(&["setup", agent, "--yes"], 0);
        let said = text(&place.run(&["setup", agent, "--yes"], 0).stderr);
        assert!(said.contains("nothing to change"), "{agent}: {said}");
    }
    for (path, content) in files {
        let now = read(&place, path);
        assert!(now.contains("unforget"), "{path}: {now}");
        let kept = content
            .lines()
            .filter(|line| line.len() > 6 && !line.starts_with('{'))
            .all(|line| now.contains(line.trim_end_matches(['}', ','])));
        assert!(kept, "{path}: {now}");
    }
    let skill = read(&place, ".claude/skills/unforget/SKILL.md");
    assert!(skill.starts_with("---\nname: unforget\n"), "{skill}");
    assert!(
        read(&place, ".codex/hooks.json").contains("\"Stop\"")
            && read(&place, ".gemini/settings.json").contains("SessionEnd")
    );
    assert!(read(&place, ".pi/agent/extensions/unforget.ts").contains("session_shutdown"));
    let mut all = vec!["setup", "--undo", "--yes"];
    all.extend(agents);
    place.run(&all, 0);
    for (path, content) in files {
        assert_eq!(read(&place, path), content, "{path}");
    }
    for path in [
        ".claude/skills/unforget",
        ".codex/hooks.json",
        ".pi/agent/extensions/unforget.ts",
        ".config/unforget/setup.json",
    ] {
        assert!(!place.path(path).exists(), "{path}");
    }
}

#[test]
fn a_broken_file_and_another_authors_entry_are_left_alone() {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".claude")).unwrap();
    place.write(".claude/settings.json", "{\n  \"hooks\": oops\n}\n");
    let said = text(&place.run(&["setup", "claude", "--yes"], 3).stderr);
    assert!(said.contains("settings.json") && said.contains("line 2"), "{said}");
    assert!(!place.path(".claude.json").exists(), "nothing was changed");
    place.write(".claude/settings.json", "{}");
    place.write(".claude.json", "{\"mcpServers\": {\"unforget\": {\"command\": \"mine\"}}}");
    let output = place.run(&["setup", "claude", "--yes"], 0);
    assert!(text(&output.stdout).contains("something else is in its place"));
    assert!(read(&place, ".claude.json").contains("mine"));
    place.run(&["setup", "claude", "--undo", "--yes"], 0);
    assert_eq!(read(&place, ".claude.json"), "{\"mcpServers\": {\"unforget\": {\"command\": \"mine\"}}}");
}

#[test]
fn the_hook_imports_what_was_said() {
    let place = Place::new();
    let sessions = place.path(".claude/projects/x");
    std::fs::create_dir_all(&sessions).unwrap();
    let line = r#"{"uuid":"1","parentUuid":null,"sessionId":"4a36","type":"user","timestamp":"2026-04-01T10:00:00Z","message":{"role":"user","content":"hello"}}"#;
    std::fs::write(sessions.join("4a36.jsonl"), format!("{line}\n")).unwrap();
    place.run(&["setup", "claude", "--yes"], 0);
    let settings: serde_json::Value = serde_json::from_str(&read(&place, ".claude/settings.json")).unwrap();
    let hook = settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"].as_str().unwrap().to_owned();
    // In the foreground, to see its end.
    let hook = hook.replace(" --detach", "");
    let status =
        std::process::Command::new("sh").args(["-c", &hook]).env("HOME", place.path("")).status().unwrap();
    assert!(status.success(), "{hook}");
    assert_eq!(place.json(&["list"], 0)[0]["conversation"], "claude-code:4a36");
}

#[cfg(target_os = "linux")]
#[test]
fn the_service_is_a_unit_of_the_user() {
    let place = Place::new();
    let output = place.run(&["setup", "--service", "--yes"], 0);
    let unit = read(&place, ".config/systemd/user/unforget-keep.service");
    assert!(unit.contains("keep\" \"--foreground\"") && unit.contains("--db"), "{unit}");
    assert!(!unit.contains("Environment="), "{unit}");
    assert!(text(&output.stderr).contains("systemctl --user enable --now unforget-keep"));
    place.run(&["setup", "--service", "--undo", "--yes"], 0);
    assert!(!place.path(".config/systemd/user/unforget-keep.service").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn the_service_knows_the_folders_that_variables_name() {
    let place = Place::new();
    let mut command = place.command();
    command.env("CLAUDE_CONFIG_DIR", place.path("my claude")).env("CODEX_HOME", place.path("c"));
    command.args(["setup", "--service", "--yes"]).assert().success();
    let unit = read(&place, ".config/systemd/user/unforget-keep.service");
    let claude = format!("Environment=\"CLAUDE_CONFIG_DIR={}\"", place.path("my claude").display());
    assert!(unit.contains(&claude) && unit.contains("\"CODEX_HOME="), "{unit}");
    // In the folders of today.
    place.run(&["setup", "--service", "--undo", "--yes"], 0);
    assert!(!place.path(".config/systemd/user/unforget-keep.service").exists());
}
