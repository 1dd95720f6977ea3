//! Who may open what.

use unforget_store::{Log as _, StoreError, Upkeep as _, conformance::Tape};
use unforget_store_pg::{PgOptions, PgStore};
use unforget_testkit::{Port, Postgres};

use super::{fresh, open, options, place};

#[test]
fn a_silent_server_is_named_without_its_password() {
    let port = Port::hold();
    let address = format!("postgres://ann:secret@{}/notes", port.address());
    let error = PgStore::open(&place(&address), PgOptions::default()).unwrap_err();
    assert!(matches!(&error, StoreError::Unreachable { .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("postgres://ann@127.0.0.1") && !said.contains("secret"), "{said}");
}

#[test]
fn an_unsafe_server_is_refused() {
    let (Some(server), Some(safe)) = (Postgres::shared(), Postgres::new()) else { return };
    let strict = || PgOptions { is_throwaway: false, ..options() };
    let error = PgStore::open(&place(&server.database()), strict()).unwrap_err();
    assert!(matches!(&error, StoreError::UnsafeServer { setting: "fsync", .. }), "{error:?}");
    let address = safe.database();
    PgStore::open(&place(&address), strict()).unwrap();
    let name = address.rsplit('/').next().unwrap();
    safe.sql("postgres", &format!("ALTER DATABASE {name} SET synchronous_commit = off")).unwrap();
    let error = PgStore::open(&place(&address), strict()).unwrap_err();
    assert!(matches!(&error, StoreError::UnsafeServer { setting: "synchronous_commit", .. }), "{error:?}");
    PgStore::open(&place(&address), options()).unwrap();
}

#[test]
fn foreign_newer_and_empty_databases_are_refused() {
    let Some(server) = Postgres::shared() else { return };
    let reader = PgOptions { is_reader: true, ..options() };
    let address = server.database();
    let empty = PgStore::open(&place(&address), reader.clone()).unwrap_err();
    assert!(matches!(empty, StoreError::NotAStore { .. }), "a reader makes no tables");
    drop(open(&address));
    let store = PgStore::open(&place(&address), reader).unwrap();
    let key = unforget_store::NewConversation {
        key: unforget_core::id::ConversationKey("t:1".to_owned()),
        format: "test".to_owned(),
        title: None,
        parent: None,
    };
    assert!(matches!(store.ensure(&key), Err(StoreError::ReadOnly { .. })));
    let name = address.rsplit('/').next().unwrap();
    server.sql(name, "INSERT INTO unforget.migration VALUES (99, '')").unwrap();
    assert!(matches!(PgStore::open(&place(&address), options()), Err(StoreError::NewerSchema { .. })));
    let address = server.database();
    let name = address.rsplit('/').next().unwrap();
    server.sql(name, "CREATE SCHEMA unforget; CREATE TABLE unforget.theirs (a int)").unwrap();
    assert!(matches!(PgStore::open(&place(&address), options()), Err(StoreError::NotAStore { .. })));
}

#[test]
fn a_protected_connection_is_one() {
    let Some(server) = Postgres::secure() else { return };
    let plain = server.database();
    let name = plain.rsplit('/').next().unwrap();
    drop(open(&plain));
    let roots = server.certificate().display().to_string().replace('/', "%2F");
    let at = |host: &str, how: &str| {
        let address = format!("{}?{how}", server.secure_address(host, name));
        PgStore::open(&place(&address), options())
    };
    let table = [
        (
            "localhost",
            format!("sslmode=verify-full&sslrootcert={roots}"),
            None,
            "its own certificate is trusted",
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-full&sslrootcert={roots}"),
            Some("certificate"),
            "of another name",
        ),
        ("localhost", "sslmode=verify-full".to_owned(), Some("certificate"), "no authority knows it"),
        (
            "localhost",
            "sslmode=verify-full&sslrootcert=/nowhere.pem".to_owned(),
            Some("sslrootcert"),
            "no file",
        ),
        ("localhost", "sslmode=require".to_owned(), None, "whoever answers"),
    ];
    for (host, how, want, why) in table {
        match (at(host, &how), want) {
            (Ok(store), None) => {
                let tape = Tape::new(&store, &format!("t:{why}"));
                tape.open(None, &["over TLS"]);
                let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                    WHERE application_name = 'unforget' AND ssl";
                assert_eq!(server.sql(name, encrypted).unwrap(), "1", "{why}");
            }
            (Err(StoreError::Unreachable { detail, .. }), Some(want)) => {
                assert!(detail.contains(want), "{why}: {detail}");
            }
            (done, _) => panic!("{why}: {:?}", done.err()),
        }
    }
}

/// Programs that open a new database at the same moment make its tables once.
#[test]
fn many_open_at_once() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let address = &address;
            scope.spawn(move || {
                let store = open(address);
                Tape::new(&store, &format!("t:{}", number % 2)).id
            });
        }
    });
    assert_eq!(open(&address).conversations(unforget_store::Page::first(9)).unwrap().len(), 2);
}

#[test]
fn a_changed_row_is_damage_with_its_place() {
    let Some(server) = Postgres::shared() else { return };
    let address = server.database();
    let store = open(&address);
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["one", "two", "three"]);
    let name = address.rsplit('/').next().unwrap();
    let change = "UPDATE unforget.entry SET facts = set_byte(facts, 9, get_byte(facts, 9) # 1) WHERE seq = 1";
    server.sql(name, change).unwrap();
    let error = store.rows(tape.id, 0..3).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { seq, .. } if seq.0 == 1), "{error:?}");
    let problems = store.verify(&mut |_, _| {}).unwrap();
    assert!(
        problems.iter().any(|problem| problem.kind == "row" && problem.seq.is_some_and(|seq| seq.0 == 1))
    );
    drop(fresh(&server));
}
