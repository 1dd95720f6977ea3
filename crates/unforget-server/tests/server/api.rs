//! The HTTP API over a store: each route, each error, pages, tags, uploads, events.

use crate::support::served;

use std::collections::BTreeSet;

use crate::support::served::{KEY, Served};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use unforget_server::serve::TOKEN;

#[test]
fn the_document_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let made = unforget_server::api::document();
    if std::env::var_os("UNFORGET_WRITE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        made == kept,
        "docs/openapi.json is old: UNFORGET_WRITE_DOCS=1 cargo test -p unforget-server --test server api"
    );
    let document: Value = serde_json::from_str(&made).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
}

/// Every GET route of the document answers for a stored conversation, with the documented fields.
#[tokio::test]
async fn every_route_that_is_read_answers() {
    let served = Served::start().await;
    served.import().await;
    served.post(&format!("conversations/{KEY}/pins"), &json!({"text": "Never touch the boathouse."})).await;
    let query = |path: &str| match path {
        "/api/v1/search" | "/api/v1/pack" => "?q=heron",
        "/api/v1/grep" => "?pattern=nest-%5Cd%2B",
        "/api/v1/describe" | "/api/v1/expand" | "/api/v1/raw" => "?id=s%3A2&conversation=pi",
        "/api/v1/conversations/{name}/diff" => "?from=1&to=2",
        "/api/v1/conversations/{name}/why" => "?entry=1",
        _ => "",
    };
    let document: Value = serde_json::from_str(&unforget_server::api::document()).unwrap();
    let mut done = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        if methods.get("get").is_none() || path.ends_with("/events") {
            continue;
        }
        let place = path.replace("{name}", KEY).replace("{number}", "1").replace("{task}", "x");
        let answer = served.get(&format!("{}{}", place.trim_start_matches("/api/v1/"), query(path))).await;
        // An imported history has no sent prompts, and no task is called x.
        let is_absent = ["/diff", "/{number}", "/{task}"].iter().any(|end| path.ends_with(end));
        let want = if is_absent { StatusCode::NOT_FOUND } else { StatusCode::OK };
        assert_eq!(answer.status(), want, "{path}");
        done.insert(path.clone());
    }
    assert!(done.len() >= 20, "{done:?}");
    served.end().await;
}

#[tokio::test]
async fn what_is_stored_is_shown_and_given_back() {
    let served = Served::start().await;
    let imported = served.import().await;
    assert_eq!((imported["added"].clone(), imported["plan"].clone()), (json!(6), json!("first-sight")));
    let list = served.json("conversations").await;
    assert_eq!(list["items"][0]["conversation"], "pi:aaaa1111-0000-4000-8000-000000000001");
    assert_eq!(list["next"], Value::Null);
    let show = served.json(&format!("conversations/{KEY}")).await;
    assert_eq!((show["length"].clone(), show["snapshots"][0]["path"].clone()), (json!(6), json!("pi.jsonl")));
    let bytes = served.get(&format!("conversations/{KEY}/export")).await.bytes().await.unwrap();
    assert_eq!(bytes, served::PI.as_bytes(), "byte for byte");
    let found = served.json("search?q=where+does+the+heron+nest").await;
    assert_eq!(found["total"], 5, "the header is nothing that anybody said");
    assert!(found["results"].as_array().unwrap().iter().any(|hit| hit["text"].to_string().contains("heron")));
    let found = served.json("grep?pattern=nest-7741&fixed=true").await;
    assert!(!found["results"].as_array().unwrap().is_empty());
    let page = served.json("expand?id=s%3A1&conversation=pi&page=64").await;
    assert!(page["items"][0]["text"].to_string().contains("boathouse"));
    let prompt = served.json(&format!("conversations/{KEY}/prompt?window=32000&dialect=anthropic")).await;
    assert_eq!(prompt["certificate"]["violations"], json!([]));
    assert!(prompt["request"]["messages"].is_array());
    let answer = served.post("answer", &json!({"question": "where does the heron nest"})).await;
    assert_eq!(answer.json::<Value>().await.unwrap()["ended"], "no-model");
    served.end().await;
}

#[tokio::test]
async fn what_left_is_told_for_a_call_or_a_break() {
    let served = Served::start().await;
    served.import().await;
    let left = format!("conversations/{KEY}/left");
    let told = served.json(&format!("{left}?window=1000000")).await;
    assert_eq!((told["entries"].clone(), told["why"].clone()), (json!(0), json!([])), "{told}");
    assert_eq!((told["calls"].clone(), told["window"].clone()), (json!("played"), json!(1_000_000)));
    let again = served.json(&format!("{left}?window=1000000&call={}", told["call"].as_str().unwrap())).await;
    assert_eq!(again, told, "the newest call by its name, from what was played before");
    for (query, want) in [
        ("?call=500", "there is no call 500"),
        ("?break=9", "there is no break 9"),
        ("?call=1&break=1", "name a call or a break, not both"),
        ("?kind=rule,nonsense", "there is no kind nonsense"),
        ("?limit=0", "it has to be from 1 to"),
    ] {
        let answer = served.get(&format!("{left}{query}")).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{query}");
        let problem = answer.json::<Value>().await.unwrap();
        assert!(problem["detail"].as_str().unwrap().contains(want), "{query}: {problem}");
    }
    served.end().await;
}

#[tokio::test]
async fn words_of_people_from_elsewhere_are_taken_once() {
    let served = Served::start().await;
    served.import().await;
    let key = served.json("conversations").await["items"][0]["conversation"].as_str().unwrap().to_owned();
    let saying = json!({ "conversation": key, "made_ms": 5, "origin": "boat", "says": { "kind": "tag", "tag": "later", "there": true } });
    let sayings = json!({ "sayings": [saying.to_string(), "no saying"] });
    let place = format!("conversations/{}/sayings", key.replace(':', "%3A"));
    for added in [1, 0] {
        let taken = served.post(&place, &sayings).await.json::<Value>().await.unwrap();
        assert_eq!(taken, json!({ "added": added, "absent": 0, "unfit": 1 }));
    }
    assert_eq!(served.json(&format!("conversations/{KEY}/label")).await["tags"], json!(["later"]));
    let nowhere =
        served.post("conversations/pi%3Anowhere/sayings", &sayings).await.json::<Value>().await.unwrap();
    assert_eq!((nowhere["added"].clone(), nowhere["absent"].clone()), (json!(0), json!(2)));
    served.end().await;
}

#[tokio::test]
async fn pages_are_all_of_it_each_once() {
    let served = Served::start().await;
    served.import().await;
    let mut place = format!("conversations/{KEY}/entries?limit=4");
    let mut seqs = Vec::new();
    loop {
        let page = served.json(&place).await;
        seqs.extend(page["items"].as_array().unwrap().iter().map(|row| row["seq"].as_u64().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        place = next.trim_start_matches("/api/v1/").to_owned();
    }
    assert_eq!(seqs, [0, 1, 2, 3, 4, 5]);
    served.upload("chat.json", served::CHAT).await;
    let first = served.json("conversations?limit=1").await;
    let second = served.json(first["next"].as_str().unwrap().trim_start_matches("/api/v1/")).await;
    assert_ne!(first["items"][0]["conversation"], second["items"][0]["conversation"]);
    assert_eq!(second["next"], Value::Null);
    served.end().await;
}

#[tokio::test]
async fn tags_spare_answers_and_guard_changes() {
    let served = Served::start().await;
    served.import().await;
    let place = format!("conversations/{KEY}/pins");
    let tag = served.tag(&place).await;
    let again = served.ask(Method::GET, &place).header("if-none-match", &tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert!(again.bytes().await.unwrap().is_empty());
    let pin = |text: &str, tag: &str| {
        served.ask(Method::POST, &place).header("if-match", tag).json(&json!({"text": text})).send()
    };
    let made = pin("Keep to the path.", &tag).await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    assert_eq!(
        made.headers()["location"].to_str().unwrap(),
        format!("/api/v1/conversations/pi%3Aaaaa1111%2D0000%2D4000%2D8000%2D000000000001/pins/1")
    );
    let refused = pin("Go anywhere.", &tag).await.unwrap();
    assert_eq!(refused.status(), StatusCode::PRECONDITION_FAILED);
    assert_eq!(refused.json::<Value>().await.unwrap()["kind"], "changed");
    assert_eq!(served.json(&place).await["pins"].as_array().unwrap().len(), 1, "nothing changed");
    // The tag of a conversation changes with its revision.
    let (show, grown) =
        (format!("conversations/{KEY}"), format!("{}{}", served::PI.rsplit_once('\n').unwrap().0, "\n"));
    let before = served.tag(&show).await;
    served.upload("pi.jsonl", &grown).await;
    let longer = format!("{grown}{}\n", served::MORE);
    served.upload("pi.jsonl", &longer).await;
    assert_ne!(served.tag(&show).await, before);
    let stale =
        served.ask(Method::POST, &format!("{show}/purge")).header("if-match", before).json(&json!({})).send();
    assert_eq!(stale.await.unwrap().status(), StatusCode::PRECONDITION_FAILED);
    served.end().await;
}

#[tokio::test]
async fn pins_are_made_changed_and_taken_back() {
    let served = Served::start().await;
    served.import().await;
    let place = format!("conversations/{KEY}/pins");
    let of_entry = served.post(&place, &json!({"entry": "s:1"})).await.json::<Value>().await.unwrap();
    assert_eq!((of_entry["pin"].clone(), of_entry["seq"].clone()), (json!(1), json!(1)));
    let put =
        served.ask(Method::PUT, &format!("{place}/1")).json(&json!({"text": "Other words."})).send().await;
    let put = put.unwrap().json::<Value>().await.unwrap();
    assert_eq!((put["pin"].clone(), put["state"].clone()), (json!(2), json!("active")));
    let gone = served.ask(Method::DELETE, &format!("{place}/2")).send().await.unwrap();
    assert_eq!(gone.json::<Value>().await.unwrap()["state"], "retired");
    let pins = served.json(&place).await;
    let states: Vec<_> = pins["pins"].as_array().unwrap().iter().map(|pin| pin["state"].clone()).collect();
    assert_eq!(states, [json!("superseded"), json!("retired")]);
    served.end().await;
}

#[tokio::test]
async fn purge_takes_two_steps() {
    let served = Served::start().await;
    served.import().await;
    let place = format!("conversations/{KEY}/purge");
    let plan = served.post(&place, &json!({"first": 3, "last": 3})).await.json::<Value>().await.unwrap();
    assert_eq!((plan["purged"].clone(), plan["entries"].clone()), (json!(false), json!(1)));
    let token = plan["token"].clone();
    let other = served.post(&place, &json!({"first": 2, "last": 3, "token": token})).await;
    assert_eq!(other.status(), StatusCode::CONFLICT, "the token is for these entries only");
    assert!(served.grep("eggs").await, "nothing went yet");
    let done = served.post(&place, &json!({"first": 3, "last": 3, "token": token})).await;
    assert_eq!(done.json::<Value>().await.unwrap()["purged"], true);
    assert!(!served.grep("eggs").await);
    let again = served.post(&place, &json!({"first": 3, "last": 3, "token": token})).await;
    assert_eq!(again.status(), StatusCode::CONFLICT, "the conversation is another now");
    served.end().await;
}

#[allow(clippy::type_complexity, reason = "a table")]
#[tokio::test]
async fn errors_say_what_to_do_next() {
    let served = Served::start().await;
    served.import().await;
    let pins = format!("conversations/{KEY}/pins");
    let table: [(Method, String, Option<Value>, u16, &str, &str); 19] = [
        (Method::GET, "conversations/nosuch".into(), None, 404, "no-conversation", "a name that nothing has"),
        (Method::GET, "nosuch".into(), None, 404, "no-route", "no route"),
        (Method::PATCH, "conversations".into(), None, 405, "method", "a method that is not taken"),
        (Method::GET, "conversations?limit=0".into(), None, 400, "usage", "no page"),
        (Method::GET, "conversations?limit=x".into(), None, 400, "usage", "no number"),
        (Method::GET, "conversations?after=x".into(), None, 400, "usage", "no place"),
        (Method::GET, "search".into(), None, 400, "usage", "nothing asked"),
        (Method::GET, "grep?pattern=%28".into(), None, 400, "usage", "a wrong pattern"),
        (Method::GET, "search?q=x&since=yesterdayish".into(), None, 400, "usage", "no time"),
        (Method::GET, "describe?id=sum%3Anosuch&conversation=pi".into(), None, 400, "usage", "no id"),
        (Method::GET, format!("conversations/{KEY}/export?snapshot=9"), None, 404, "no-snapshot", "no save"),
        (Method::GET, format!("conversations/{KEY}/prompt?window=0"), None, 400, "usage", "no window"),
        (Method::GET, format!("conversations/{KEY}/prompt?window=1"), None, 422, "irreducible", "too small"),
        (Method::GET, format!("conversations/{KEY}/prompt?turn=99"), None, 404, "no-turn", "no turn"),
        (Method::GET, format!("conversations/{KEY}/prompt?dialect=x"), None, 400, "usage", "no dialect"),
        (Method::GET, format!("conversations/{KEY}/prompts/7"), None, 404, "no-prompt", "no prompt"),
        (Method::POST, pins.clone(), Some(json!({})), 400, "usage", "no words"),
        (Method::DELETE, format!("{pins}/7"), None, 404, "no-pin", "no pin"),
        (Method::POST, "backups".into(), Some(json!({"name": "../x"})), 400, "usage", "a path"),
    ];
    for (method, place, body, status, kind, why) in table {
        let mut request = served.ask(method, &place);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{why}: {place}");
        let told_status = answer.status().as_u16();
        let told: Value = answer.json().await.unwrap();
        assert_eq!((told_status, told["kind"].as_str().unwrap()), (status, kind), "{why}: {told}");
        assert_eq!(told["status"], status);
        assert_eq!(told["type"], format!("urn:unforget:problem:{kind}"));
        assert!(
            !told["detail"].as_str().unwrap().is_empty() && !told["next"].as_str().unwrap_or("").is_empty(),
            "{told}"
        );
    }
    let text = served.ask(Method::POST, &pins).body("text=x").send().await.unwrap();
    assert_eq!(text.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "what a page of another site could send");
    served.end().await;
}

#[tokio::test]
async fn uploads_are_bounded_and_leave_nothing() {
    let served = Served::start().await;
    let large = vec![b'x'; served::UPLOAD_MAX as usize + 1];
    let refused = served.ask(Method::POST, "imports").body(large.clone()).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    // Again, without a length given in advance.
    let pieces = futures_util::stream::iter(
        large.chunks(65_536).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect::<Vec<_>>(),
    );
    let body = reqwest::Body::wrap_stream(pieces);
    let refused = served.ask(Method::POST, "imports").body(body).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let task = served.begin("notes.txt", "these are notes").await;
    let ended = served.wait(&task).await;
    assert_eq!(
        (ended["state"].clone(), ended["problem"]["kind"].clone()),
        (json!("failed"), json!("not-a-transcript"))
    );
    assert!(ended["problem"]["detail"].as_str().unwrap().starts_with("cannot read notes.txt: "), "{ended}");
    served.upload("pi.jsonl", served::PI).await;
    let again = served.upload("pi.jsonl", served::PI).await;
    assert_eq!(again["added"], 0, "sending it again changes nothing");
    assert_eq!(std::fs::read_dir(served.uploads()).unwrap().count(), 0, "no upload is left");
    served.end().await;
}

#[tokio::test]
async fn checks_and_copies_are_tasks() {
    let served = Served::start().await;
    served.import().await;
    for (place, body) in
        [("verify", None), ("reindex", None), ("backups", Some(json!({"name": "monday.db"})))]
    {
        let mut request = served.ask(Method::POST, place);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::ACCEPTED, "{place}");
        assert!(answer.headers()["location"].to_str().unwrap().starts_with("/api/v1/tasks/"));
        let ended = served.wait(&answer.json().await.unwrap()).await;
        assert_eq!(ended["state"], "done", "{place}: {ended}");
    }
    assert!(served.backups().join("monday.db").exists());
    let again = served.post("backups", &json!({"name": "monday.db"})).await;
    assert_eq!(again.status(), StatusCode::CONFLICT, "no backup is written over");
    assert_eq!(served.json("tasks").await["items"].as_array().unwrap().len(), 4);
    served.end().await;
}

#[tokio::test]
async fn changes_are_told_and_a_reader_goes_on_where_it_was() {
    let served = Served::start().await;
    let mut listening = served.listen(None).await;
    served.import().await;
    let told = listening.until("entries").await;
    assert_eq!(told.data["conversation"], "pi:aaaa1111-0000-4000-8000-000000000001");
    served.post(&format!("conversations/{KEY}/pins"), &json!({"text": "Keep to the path."})).await;
    listening.until("pins").await;
    // A returning reader gets the missed events; a new one is told to read again.
    let mut back = served.listen(Some(&told.id)).await;
    back.until("pins").await;
    let mut lost = served.listen(Some("0-0")).await;
    assert_eq!(lost.next().await.event, "reset");
    served.end().await;
}

#[tokio::test]
async fn figures_name_no_conversation() {
    let served = Served::start().await;
    served.import().await;
    served.get("conversations/nosuch").await;
    let text = served.metrics().await;
    for name in [
        "unforget_entries 6",
        "unforget_conversations 1",
        "unforget_api_problems_total{kind=\"no-conversation\"}",
    ] {
        assert!(text.contains(name), "{name} in\n{text}");
    }
    assert!(!text.contains("aaaa1111") && !text.contains("nosuch"), "{text}");
    served.end().await;
}

/// Tenants see neither each other nor matters of the whole store.
#[tokio::test]
async fn f110_tenants_see_their_own_only() {
    let served = Served::with_tenants(&["ann", "bob"]).await;
    served.deliver("gateway/ann/1", "The heron nests in the reeds.");
    served.deliver("gateway/bob/1", "The otter sleeps by the weir.");
    let bob = "journal%3Agateway%2Fbob%2F1";
    let of = |tenant: &'static str, place: String| served.as_tenant(tenant, Method::GET, &place);
    for (tenant, count) in [("ann", 1), ("bob", 1), ("default", 2)] {
        let list: Value = of(tenant, "conversations".into()).send().await.unwrap().json().await.unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), count, "{tenant}");
    }
    for place in [
        "",
        "/entries",
        "/stats",
        "/export",
        "/pins",
        "/prompt",
        "/prompts",
        "/ledger",
        "/jobs",
        "/decisions",
    ] {
        let answer = of("ann", format!("conversations/{bob}{place}")).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{place}");
    }
    for query in [
        "search?q=otter+weir",
        "grep?pattern=otter",
        "search?q=otter&conversation=journal%3Agateway%2Fann%2F1",
    ] {
        let found = of("ann", query.into()).send().await.unwrap().text().await.unwrap();
        assert!(!found.contains("sleeps"), "{query}: {found}");
    }
    for place in ["describe", "expand", "raw"] {
        let answer = of("ann", format!("{place}?id=e%3A{bob}%3A1")).send().await.unwrap();
        assert!(answer.status().is_client_error(), "{place}");
    }
    for (method, place) in [
        (Method::GET, "config"),
        (Method::GET, "doctor"),
        (Method::POST, "verify"),
        (Method::POST, "imports"),
    ] {
        let answer = served.as_tenant("ann", method, place).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{place}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
    }
    let own = "conversations/journal%3Agateway%2Fann%2F1/stats";
    for (tenant, sees_place, place) in
        [("ann", false, "stats"), ("ann", false, own), ("default", true, "stats"), ("default", true, own)]
    {
        let told: Value = of(tenant, place.into()).send().await.unwrap().json().await.unwrap();
        assert_eq!(told["db"].is_string(), sees_place, "where the database is: {tenant} {place}: {told}");
    }
    let purge = served.as_tenant("ann", Method::POST, &format!("conversations/{bob}/purge")).json(&json!({}));
    assert_eq!(purge.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    // Again, over MCP.
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "grep", "arguments": {"pattern": "nests|sleeps"}}});
    for (tenant, own, other) in [("ann", "nests", "sleeps"), ("bob", "sleeps", "nests")] {
        let url = format!("{}/mcp", served.url);
        let asked = served.http.post(url).header("x-unforget-token", format!("uft_{tenant}")).json(&question);
        let asked = asked.header("accept", "application/json, text/event-stream");
        let told =
            asked.header("mcp-protocol-version", "2025-06-18").send().await.unwrap().text().await.unwrap();
        assert!(told.contains(own) && !told.contains(other), "{tenant}: {told}");
    }
    let nobody = served.ask(Method::GET, "conversations").send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(nobody.json::<Value>().await.unwrap()["kind"], "no-token");
    served.end().await;
}

/// Only the command line of the owner, which can read the file beside the database, names a file; others are told of it.
#[tokio::test(flavor = "multi_thread")]
async fn no_client_of_the_api_can_have_a_file_read() {
    for names in [&[][..], &["ann"]] {
        let served = Served::with_tenants(names).await;
        let path = served.backups().canonicalize().unwrap().join("rules.md");
        std::fs::write(&path, "Never touch the boathouse.").unwrap();
        let lane = unforget_engine::host::LaneKey("gateway/ann/1".to_owned());
        served.host.open(&lane, unforget_wire::Format::Pi).unwrap();
        let key = "journal:gateway/ann/1";
        let pins = "conversations/journal%3Agateway%2Fann%2F1/pins";
        let file = json!({"conversation": key, "path": path});
        for body in [json!({"path": path}), json!({"file": path}), json!({"text": "x", "path": path})] {
            let answer = served.as_tenant("default", Method::POST, pins).json(&body).send().await.unwrap();
            assert_eq!(answer.status(), 400, "{body}");
        }
        for token in ["uft_default", "uft_ann", "uft_default_reads", "", "uft_at_han"] {
            let ask = served.ask(Method::POST, "local/pins").header(TOKEN, token).json(&file);
            let status = ask.send().await.unwrap().status().as_u16();
            assert!([401, 403].contains(&status), "{token}: {status}");
        }
        let bearer = format!("Bearer {}", served::OWN);
        let ask = served.ask(Method::POST, "local/pins").header("authorization", bearer).json(&file);
        assert!([401, 403].contains(&ask.send().await.unwrap().status().as_u16()), "only in its own header");
        let list = served.as_tenant("default", Method::GET, pins).send().await.unwrap();
        assert_eq!(list.json::<Value>().await.unwrap()["pins"], json!([]), "nothing was pinned");
        if names.is_empty() {
            let ask = || served.ask(Method::POST, "local/pins").header(TOKEN, served::OWN);
            let relative =
                ask().json(&json!({"conversation": key, "path": "rules.md"})).send().await.unwrap();
            assert_eq!(relative.status(), 400);
            let made = ask().json(&file).send().await.unwrap();
            assert_eq!(made.status(), 201);
            let listed = served.json(pins).await;
            let shown = &listed["pins"][0]["file"];
            assert_eq!(
                (shown["path"].as_str(), &shown["trouble"]),
                (path.to_str(), &json!(null)),
                "{listed}"
            );
            assert_eq!(shown["digest"].as_str().unwrap().len(), 64);
            let status = served.json("conversations/journal%3Agateway%2Fann%2F1/status").await;
            assert_eq!(status["pinned_files"][0]["path"].as_str(), path.to_str(), "{status}");
        }
        served.end().await;
    }
}
