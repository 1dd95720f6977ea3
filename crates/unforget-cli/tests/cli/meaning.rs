//! Vectors through the binary, by a command whose vectors have two directions: otters, and everything else.
#![cfg(unix)]
use serde_json::Value;

use crate::support::{PI, Place, text};

const SCRIPT: &str = r#"while read -r line; do
  printf '%s\n' "$line" >> heard
  case "$line" in
    *otter*|*Riverbend*|*mauzi*) echo '{"vectors":[[1,0.1]],"tokens":3}' ;;
    *) echo '{"vectors":[[0.1,1]],"tokens":3}' ;;
  esac
done"#;

fn settings(place: &Place, script: &str) {
    place.write("embed.sh", script);
    std::fs::create_dir_all(place.path(".config/unforget")).unwrap();
    let settings =
        "[meaning]\nkind = \"command\"\ncommand = [\"/bin/sh\", \"embed.sh\"]\nmodel = \"two\"\nbatch = 1\n";
    place.write(".config/unforget/config.toml", settings);
}

fn first(found: &Value) -> String {
    found["results"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn entries_get_vectors_and_a_search_says_so() {
    let place = Place::imported();
    let plain = place.json(&["search", "mauzi"], 0);
    assert_eq!((plain["results"].as_array().unwrap().len(), &plain["meaning"]), (0, &Value::Null));
    place.run(&["embed"], 3);
    settings(&place, SCRIPT);
    place.run(&["config", "check"], 0);
    let waiting = place.json(&["embed", "--count"], 0);
    assert_eq!(
        (&waiting["model"], &waiting["entries"], &waiting["done"]),
        (&"two".into(), &0.into(), &0.into())
    );
    let left = waiting["left"].as_u64().unwrap();
    assert!(left > 5);
    let found = place.json(&["doctor"], 1).to_string();
    assert!(found.contains("unforget embed"), "{found}");
    let made = place.json(&["embed"], 0);
    assert_eq!((&made["done"], &made["left"], &made["waits"]), (&left.into(), &0.into(), &Value::Null));
    assert!(made["vectors"].as_u64().unwrap() > 5);
    assert_eq!(place.json(&["embed"], 0)["done"], 0, "nothing is made twice");
    let found = place.json(&["search", "mauzi"], 0);
    assert!(first(&found).contains("otters") || first(&found).contains("Riverbend"), "{found}");
    let meaning = &found["meaning"];
    assert_eq!((&meaning["model"], &meaning["trouble"]), (&"two".into(), &Value::Null));
    assert_eq!((meaning["entries"] == meaning["of"], &found["absent"][0]), (true, &"mauzi".into()));
    let shown = text(&place.run(&["search", "mauzi"], 0).stdout);
    assert!(shown.contains("meaning: model two, ") && shown.contains("near in meaning"), "{shown}");
    let status = place.json(&["status", "pi"], 0);
    assert_eq!((&status["meaning"]["model"], &status["meaning"]["left"]), (&"two".into(), &0.into()));
    assert!(text(&place.run(&["status", "pi"], 0).stdout).contains("with a vector of two, 0 waiting"));
    assert_eq!(place.json(&["verify"], 0)["problems"], serde_json::json!([]));
}

#[test]
fn a_search_goes_on_by_words_where_the_model_fails() {
    let place = Place::imported();
    settings(&place, SCRIPT);
    place.json(&["embed"], 0);
    let by_words = place.json(&["search", "heron", "--limit", "3"], 0);
    settings(&place, "exit 1");
    let found = place.json(&["search", "heron", "--limit", "3"], 0);
    assert!(found["meaning"]["trouble"].as_str().unwrap().contains("ended"), "{found}");
    assert!(!found["results"].as_array().unwrap().is_empty(), "{by_words}");
    let shown = text(&place.run(&["search", "heron"], 0).stdout);
    assert!(shown.contains("by words alone, not by meaning (model two"), "{shown}");
    place.write("new.jsonl", &PI.replace("aaaa1111", "bbbb2222"));
    place.run(&["import", "new.jsonl", "-q"], 0);
    let failed = place.json(&["embed"], 1);
    assert!(failed["waits"].as_str().unwrap().contains("ended"), "{failed}");
    place.write(".config/unforget/config.toml", "[meaning]\nkind = \"magic\"\n");
    let output = place.run(&["search", "heron"], 0);
    assert!(text(&output.stderr).contains("search by words alone"), "{}", text(&output.stderr));
    let wrong = place.json(&["config", "check"], 1);
    assert_eq!(wrong["problems"][0]["setting"], "meaning", "{wrong}");
}

/// A model that ends when it reads of herons, whose length is in a file.
const FRAGILE: &str = r#"while read -r line; do
  case "$line" in
    *heron*|*Heron*) exit 1 ;;
    *) if [ -e longer ]; then echo '{"vectors":[[1,0.1,0.2]]}'; else echo '{"vectors":[[1,0.1]]}'; fi ;;
  esac
done"#;

#[test]
fn a_text_that_ends_the_model_is_counted_and_told() {
    let place = Place::imported();
    settings(&place, FRAGILE);
    let made = place.json(&["embed"], 0);
    assert_eq!((&made["left"], &made["waits"]), (&0.into(), &Value::Null), "{made}");
    let without = made["without"].as_u64().unwrap();
    assert!(without > 0 && made["refused"] == made["without"], "{made}");
    let shown = text(&place.run(&["embed", "--count"], 0).stdout);
    assert!(shown.contains("without a vector: the model failed on"), "{shown}");
    let status = place.json(&["status", "pi"], 0);
    assert!(status["meaning"]["without"].as_u64().unwrap() > 0, "{status}");
    assert!(text(&place.run(&["status", "pi"], 0).stdout).contains("the model failed on"));
    place.write("longer", "");
    place.write("more.jsonl", &PI.replace("aaaa1111", "bbbb2222"));
    place.run(&["import", "more.jsonl", "-q"], 0);
    let told = text(&place.run(&["search", "otter"], 0).stdout);
    assert!(told.contains("3 numbers") && told.contains("--again"), "{told}");
    let again = place.json(&["embed", "--again"], 0);
    assert_eq!((&again["left"], again["vectors"].as_u64() > Some(0)), (&0.into(), true), "{again}");
    let found = place.json(&["search", "otter"], 0);
    assert_eq!(found["meaning"]["trouble"], Value::Null, "{found}");
}

#[test]
fn a_pack_says_that_words_alone_ranked() {
    let place = Place::imported();
    settings(&place, SCRIPT);
    place.json(&["embed"], 0);
    assert_eq!(place.json(&["pack", "heron"], 0)["words_only"], Value::Null);
    settings(&place, "exit 1");
    let why = place.json(&["pack", "heron"], 0)["words_only"].as_str().unwrap().to_owned();
    assert!(why.contains("ended"), "{why}");
    assert!(text(&place.run(&["pack", "heron"], 0).stdout).contains("Ranked by words only: "));
}
