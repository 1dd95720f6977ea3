//! A repair killed at any moment leaves the old file or the new file, whole.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::guard_common::{Place, findings, pi};
use unforget_guard::{Outcome, Step, repair, repair_with, undo};

const STEPS: [Step; 5] = [Step::Locked, Step::Written, Step::BackedUp, Step::Checked, Step::Renamed];

/// In the child: repairs the file named by the parent, and dies at the given step.
#[test]
fn child() {
    let Some(path) = env::var_os("UNFORGET_TEST_REPAIR").map(PathBuf::from) else {
        let place = Place::new(&pi("u k:x s:x u"));
        assert!(matches!(repair(&place.path).unwrap().outcome, Outcome::Mended { .. }));
        return;
    };
    let at: usize = env::var("UNFORGET_TEST_STEP").unwrap().parse().unwrap();
    repair_with(&path, &mut |step| {
        if Some(&step) == STEPS.get(at) {
            std::process::abort();
        }
    })
    .unwrap();
}

#[test]
fn f052_a_killed_repair_leaves_one_of_two_whole_files() {
    let before = pi("u A:1 k:x s:x u");
    let mended = Place::new(&before);
    repair(&mended.path).unwrap();
    let after = mended.text();
    for (at, step) in STEPS.iter().enumerate() {
        let place = Place::new(&before);
        let ended = Command::new(env::current_exe().unwrap())
            .args(["--exact", "crash::child", "--nocapture"])
            .env("UNFORGET_TEST_REPAIR", &place.path)
            .env("UNFORGET_TEST_STEP", at.to_string())
            .output()
            .unwrap();
        assert!(!ended.status.success(), "{step:?}: it was killed");
        let want = if *step == Step::Renamed { &after } else { &before };
        assert_eq!(&place.text(), want, "{step:?}");
        // The lock of the dead process is left behind; the next repair takes it over and completes the work.
        assert!(place.names().contains(&"session.jsonl.lock".to_owned()), "{step:?}: {:?}", place.names());
        repair(&place.path).unwrap();
        assert_eq!(place.text(), after, "{step:?}");
        assert_eq!(findings(&place.path), "", "{step:?}");
        undo(&place.path).unwrap();
        assert_eq!(place.text(), before, "{step:?}: the backup is good");
    }
}
