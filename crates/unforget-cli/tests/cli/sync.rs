//! Sessions on several machines, through the binary.

use serde_json::json;

use crate::support::{CHAT, PI, PI_KEY, Place, text};

/// A folder beside the machines.
fn share() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("share").to_str().unwrap().to_owned();
    (folder, path)
}

/// Every session is here as it is there, and the database is sound.
fn same(here: &Place, there: &Place) {
    let keys = here.json(&["list"], 0);
    for one in keys.as_array().unwrap() {
        let key = one["conversation"].as_str().unwrap();
        assert_eq!(here.run(&["export", key], 0).stdout, there.run(&["export", key], 0).stdout, "{key}");
    }
    assert_eq!(keys.as_array().unwrap().len(), there.json(&["list"], 0).as_array().unwrap().len());
    there.run(&["verify"], 0);
}

#[test]
fn a_folder_carries_sessions_to_another_machine() {
    let (_folder, share) = share();
    let (ann, bea) = (Place::imported(), Place::new());
    let planned = ann.json(&["sync", &share, "--dry-run"], 0);
    assert_eq!((&planned["put"]["conversations"], &planned["dry_run"]), (&json!(2), &json!(true)));
    let done = ann.json(&["sync", &share], 0);
    assert_eq!((&done["put"]["conversations"], &done["taken"]["entries"]), (&json!(2), &json!(0)));
    let waiting = bea.json(&["sync", &share, "--dry-run"], 0);
    assert_eq!((&waiting["taken"]["waiting"], &waiting["taken"]["entries"]), (&json!(2), &json!(0)));
    assert!(!bea.path("store.sqlite").exists(), "nothing is made");
    let said = text(&bea.run(&["sync", &share], 0).stdout);
    assert!(said.contains(&format!("came from {share}: 2 of 2 conversations, ")), "{said}");
    assert!(said.contains(&format!("{PI_KEY}  6 entries new")), "{said}");
    same(&ann, &bea);
    // Search finds copied entries. A purge on one machine is told on the other one.
    assert!(text(&bea.run(&["search", "heron"], 0).stdout).contains("heron"));
    ann.run(&["purge", PI_KEY, "--entries", "2-3", "--yes"], 0);
    let done = ann.json(&["sync", &share], 0);
    assert_eq!((&done["put"]["purged"], &done["left"][0]["conversation"]), (&json!(1), &json!(PI_KEY)));
    assert_eq!(done["left"][0]["purged"], true, "told, and no problem: {done}");
    let told = bea.json(&["sync", &share], 1);
    assert_eq!((&told["taken"]["kept"], &told["taken"]["purged"]), (&json!(2), &json!(0)));
    let done = bea.json(&["sync", &share, "--purges"], 0);
    assert_eq!((&done["taken"]["kept"], &done["taken"]["purged"]), (&json!(0), &json!(2)));
    same(&ann, &bea);
}

#[test]
fn wrong_places_are_named() {
    let (_folder, share) = share();
    let place = Place::imported();
    place.write("pass", "nine blue herons at noon\nsecond line");
    place.write("other", "another one, also long\n");
    place.write("blank", "\n");
    place.run(&["sync", &share, "--encrypt", "pass"], 0);
    let nowhere = format!("{share}/no/where");
    let table: [(&[&str], i32, &str); 11] = [
        (&["sync", &share, "--encrypt", "pass"], 0, "went to"),
        (&["sync", &share], 2, "the folder is encrypted"),
        (&["sync", &share, "--encrypt", "other"], 2, "another passphrase"),
        (&["sync", &share, "--encrypt", "blank"], 2, "is blank"),
        (&["sync", &share, "--encrypt", "nowhere"], 3, "nowhere"),
        (&["sync", "."], 2, "no folder of synchronised histories"),
        (&["sync"], 2, "FOLDER|USER@HOST"),
        (&["sync", &nowhere], 2, "the folder that it would be in does not exist"),
        (&["sync", "ssh://"], 2, "ssh:// is an address"),
        (&["sync", "ann@boat:/share"], 2, "is an address"),
        (&["sync", "ann@boat", "--ssh", "no-such-ssh"], 2, "no-such-ssh cannot be started"),
    ];
    for (arguments, exit, want) in table {
        let output = place.run(arguments, exit);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains(want), "{arguments:?}: {said}");
    }
    assert!(!place.path("ssh:").exists() && !std::path::Path::new(&nowhere).exists(), "nothing is made");
}

/// The database is private, and so are its copies; but a folder in which others may write is shared on purpose.
#[cfg(unix)]
#[test]
fn what_sync_makes_is_private_unless_the_folder_is_shared() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (_folder, share) = share();
    let place = Place::imported();
    place.run(&["sync", &share], 0);
    let mut open = vec![std::path::PathBuf::from(&share)];
    let mut files = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            assert_eq!(mode(&path), 0o700, "{}", path.display());
            open.extend(std::fs::read_dir(&path).unwrap().map(|found| found.unwrap().path()));
        } else {
            files += 1;
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
    assert!(files > 2);
    let shared = place.path("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o777)).unwrap();
    place.run(&["sync", "./shared"], 0);
    assert_ne!(mode(&shared.join("unforget-sync.json")), 0o600, "as the mask of its user says");
}

#[cfg(unix)]
mod through_a_command {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::support::binary;
    use crate::support::daemon::Daemon;

    /// What stands for `ssh`: it runs the words for the other machine here.
    fn ssh(place: &Place, script: &str) -> String {
        place.write("ssh", script);
        let path = place.path("ssh");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn program(there: &Place) -> String {
        format!("{} --db {}", binary().display(), there.path("store.sqlite").display())
    }

    #[test]
    fn two_machines_have_everything_after_one_meeting() {
        let (ann, bea) = (Place::new(), Place::new());
        ann.write("pi.jsonl", PI);
        ann.run(&["import", "pi.jsonl", "-q"], 0);
        bea.write("chat.json", CHAT);
        bea.run(&["import", "chat.json", "-q"], 0);
        let ssh = ssh(&ann, "#!/bin/sh\necho 'Welcome to the boat'\nshift\nexec sh -c \"$1\"\n");
        let program = program(&bea);
        let arguments = ["sync", "ann@boat", "--ssh", &ssh, "--program", &program];
        let trial = ann.json(&[&arguments[..], &["--dry-run"]].concat(), 0);
        assert_eq!((&trial["taken"]["waiting"], &trial["given"]["waiting"]), (&json!(1), &json!(1)));
        let done = ann.json(&arguments, 0);
        assert_eq!((&done["taken"]["grown"], &done["given"]["grown"]), (&json!(1), &json!(1)));
        same(&ann, &bea);
        let done = ann.json(&arguments, 0);
        assert_eq!((&done["taken"]["entries"], &done["given"]["entries"]), (&json!(0), &json!(0)));
    }

    #[test]
    fn daemons_at_both_ends_go_on_and_write() {
        let (ann, bea) = (Place::imported(), Place::new());
        bea.write("new.jsonl", &PI.replace("aaaa1111", "bbbb2222"));
        bea.run(&["import", "new.jsonl", "-q"], 0);
        let (_here, _there) = (Daemon::start(&ann), Daemon::start(&bea));
        let ssh = ssh(&ann, "#!/bin/sh\nshift\nexec sh -c \"$1\"\n");
        let done = ann.json(&["sync", "ann@boat", "--ssh", &ssh, "--program", &program(&bea)], 0);
        assert_eq!((&done["taken"]["grown"], &done["given"]["grown"]), (&json!(1), &json!(2)));
        same(&ann, &bea);
        let (_folder, share) = share();
        ann.run(&["sync", &share], 0);
        ann.run(&["purge", "bbbb2222", "--entries", "2-3", "--yes"], 0);
        ann.run(&["sync", &share], 0);
        assert_eq!(bea.json(&["sync", &share, "--purges"], 0)["taken"]["purged"], 2);
    }

    #[test]
    fn what_people_say_goes_both_ways_also_through_daemons() {
        let (ann, bea) = (Place::imported(), Place::new());
        ann.run(&["label", PI_KEY, "--title", "Herons", "--tag", "birds"], 0);
        ann.run(&["reject", &format!("e:{PI_KEY}:2"), "--why", "it was a crane", "--by", "ann"], 0);
        let ssh = ssh(&ann, "#!/bin/sh\nshift\nexec sh -c \"$1\"\n");
        let program = program(&bea);
        let meet = ["sync", "ann@boat", "--ssh", &ssh, "--program", &program];
        let done = ann.json(&meet, 0);
        assert_eq!((&done["given"]["sayings"], &done["peer_is_old"]), (&json!(3), &json!(false)), "{done}");
        let shown = |place: &Place| {
            let label = place.json(&["label", PI_KEY], 0);
            let verdicts = place.json(&["reject", PI_KEY, "--list"], 0);
            (
                label["title"].clone(),
                label["starred"].clone(),
                label["tags"].clone(),
                verdicts["verdicts"].clone(),
            )
        };
        assert_eq!(shown(&bea), shown(&ann));
        assert_eq!(shown(&bea).3[0]["why"], "it was a crane");
        // A daemon owns each database, and both change what the other one said.
        let (_here, _there) = (Daemon::start(&ann), Daemon::start(&bea));
        bea.run(&["label", PI_KEY, "--star", "--untag", "birds"], 0);
        ann.run(&["label", PI_KEY, "--title", "Cranes"], 0);
        bea.run(&["reject", PI_KEY, "--undo", "1"], 0);
        let done = ann.json(&meet, 0);
        assert_eq!((&done["taken"]["sayings"], &done["given"]["sayings"]), (&json!(3), &json!(1)), "{done}");
        let (title, starred, tags, verdicts) = shown(&ann);
        assert_eq!((title, starred, tags), (json!("Cranes"), json!(true), json!([])));
        assert!(verdicts[0]["withdrawn"].is_string(), "{verdicts}");
        assert_eq!(shown(&bea), shown(&ann));
        let done = ann.json(&meet, 0);
        assert_eq!((&done["taken"]["sayings"], &done["given"]["sayings"]), (&json!(0), &json!(0)), "{done}");
    }

    #[test]
    fn machines_that_break_off_are_named() {
        let place = Place::imported();
        let table = [
            ("echo nonsense", "said: nonsense"),
            ("exit 0", "said nothing"),
            ("echo '{\"unforget-sync\":1}'", "in the middle"),
            ("echo '{\"unforget-sync\":2}'", "speaks protocol 2"),
        ];
        for (script, want) in table {
            let ssh = ssh(&place, &format!("#!/bin/sh\n{script}\n"));
            let said = text(&place.run(&["sync", "ann@boat", "--ssh", &ssh], 3).stderr);
            assert!(said.contains(want), "{script}: {said}");
        }
        place.run(&["verify"], 0);
    }
}
