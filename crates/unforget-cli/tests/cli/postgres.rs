//! A database on a server, beside one in a file. Skipped where PostgreSQL is not installed.

use unforget_testkit::Postgres;

use crate::support::{CHAT, PI, PI_KEY, Place, text};

/// The arguments of a command on the server.
fn on<'a>(server: &'a str, args: &[&'a str]) -> Vec<&'a str> {
    [args, &["--db", server]].concat()
}

/// Runs a command on the file and on the server and expects the same output.
fn both<'a>(place: &Place, server: &'a str, args: &[&'a str]) -> String {
    let here = text(&place.run(args, 0).stdout);
    let there = text(&place.run(&on(server, args), 0).stdout);
    assert_eq!(here, there, "{args:?}");
    here
}

#[test]
fn a_server_gives_what_a_file_gives() {
    let Some(server) = Postgres::new() else { return };
    let (place, address) = (Place::imported(), server.database());
    place.run(&on(&address, &["import", "pi.jsonl", "chat.json", "-q"]), 0);
    for again in place.json_lines(&on(&address, &["import", "pi.jsonl", "chat.json", "--force"]), 0) {
        assert_eq!(again["added"], 0, "{again}");
    }
    assert_eq!(both(&place, &address, &["export", PI_KEY]), PI);
    assert_eq!(both(&place, &address, &["export", "openai-chat"]), CHAT);
    for args in [
        &["list", "--json"][..],
        &["show", PI_KEY, "--no-pager"],
        &["search", "otters", "--json"],
        &["grep", "Riverbend", "--json"],
        &["prompt", PI_KEY, "--json"],
        &["prompt", "openai-chat"],
        &["verify"],
        &["describe", PI_KEY],
    ] {
        assert!(!both(&place, &address, args).is_empty(), "{args:?}");
    }
    place.run(&on(&address, &["purge", "openai-chat", "--yes"]), 0);
    let gone = place.run(&on(&address, &["grep", "Riverbend"]), 0);
    assert!(!text(&gone.stdout).contains("Riverbend."));
    place.run(&on(&address, &["verify"]), 0);
}

#[test]
fn what_a_server_cannot_do_is_said() {
    let Some(server) = Postgres::new() else { return };
    let (place, address) = (Place::imported(), server.database());
    place.run(&["import", "pi.jsonl", "--db", &address, "-q"], 0);
    for args in [&["backup", "copy.sqlite"][..], &["restore", "store.sqlite"], &["setup", "claude"]] {
        let failed = place.run(&[args, &["--db", &address, "--json"]].concat(), 2);
        let said = [text(&failed.stdout), text(&failed.stderr)].concat();
        assert!(said.contains("\"unsupported\"") && said.contains("postgres.md"), "{args:?}: {said}");
        assert!(!said.contains("only%20for"), "{args:?}: no password in {said}");
    }
}

#[test]
fn tables_are_made_by_an_import_and_beside_those_of_others() {
    let Some(server) = Postgres::new() else { return };
    let (place, address) = (Place::imported(), server.database());
    let database = address.rsplit('/').next().unwrap();
    for args in [&["list"][..], &["reindex"], &["purge", "openai-chat", "--yes"], &["verify"]] {
        let failed = place.command().args(on(&address, args)).output().unwrap();
        let said = text(&failed.stderr);
        assert!(!failed.status.success() && said.contains("unforget import"), "{args:?}: {said}");
    }
    assert_eq!(server.sql(database, "SELECT to_regnamespace('unforget') IS NULL").unwrap(), "t");
    server.sql(database, "CREATE TABLE theirs (a int)").unwrap();
    let made = text(&place.run(&on(&address, &["import", "pi.jsonl"]), 0).stderr);
    assert!(made.contains("1 tables of others") && made.contains("schema of their own"), "{made}");
    let again = text(&place.run(&on(&address, &["import", "chat.json"]), 0).stderr);
    assert!(!again.contains("of others"), "{again}");
    let empty = server.database();
    let quiet = text(&place.run(&on(&empty, &["import", "pi.jsonl"]), 0).stderr);
    assert!(!quiet.contains("schema"), "{quiet}");
}

#[test]
fn a_wrong_address_is_named_without_its_password() {
    let place = Place::new();
    let table = [
        ("postgres://ann:secret@127.0.0.1:1/notes", 4, "unreachable"),
        ("postgres://ann:secret@h/notes", 2, "sslmode=verify-full"),
        ("postgres://ann:secret@h/notes?sslmode=allow", 2, "sslmode"),
        ("postgres://ann:secret@h/notes?colour=red", 2, "colour"),
    ];
    for (address, exit, want) in table {
        let failed = place.run(&["list", "--db", address, "--json"], exit);
        let said = [text(&failed.stdout), text(&failed.stderr)].concat();
        assert!(said.contains(want) && !said.contains("secret"), "{address}: {said}");
    }
}
