//! Text in calls that names files and hosts: it stays text.

#![cfg(unix)]
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use unforget_store::read_all;

use crate::support::daemon::Running;
use serde_json::{Value, json};
use unforget_testkit::upstream::{Say, Script, Upstream};

/// Every file below a folder, except the daemon's own.
fn files(folder: &Path, own: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path == own {
            continue;
        }
        found.insert(path.display().to_string());
        if path.is_dir() {
            found.extend(files(&path, own));
        }
    }
    found
}

async fn place(folder: &Path) -> (Running, Upstream) {
    let script: Script = Arc::new(|_, _| Say::text("Yes."));
    let upstream = Upstream::start(1_000_000, script).await;
    let running = Running::start(&folder.join("a.db"), &upstream.url(), 1_000_000).await;
    (running, upstream)
}

#[tokio::test(flavor = "multi_thread")]
async fn f111_no_path_of_a_call_is_opened() {
    let place_of_all = tempfile::tempdir().unwrap();
    let (outside, own) = (place_of_all.path().join("outside"), place_of_all.path().join("own"));
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::create_dir_all(&own).unwrap();
    let secret = outside.join("secret.txt");
    std::fs::write(&secret, "the-secret-words").unwrap();
    // A reader of this pipe would wait for a writer that never comes.
    let pipe = outside.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink(&secret, own.join("link")).unwrap();
    let (running, upstream) = place(&own).await;
    let before = files(place_of_all.path(), &own);
    let named = |path: &Path| path.display().to_string();
    let mut names: Vec<String> = [&secret, &pipe, &own.join("link")].iter().map(|path| named(path)).collect();
    for up in 1..12 {
        let steps = "../".repeat(up);
        names.push(format!("{steps}outside/secret.txt"));
        names.push(format!("{}outside%2fsecret.txt", "%2e%2e%2f".repeat(up)));
        names.push(format!("{}outside\\secret.txt", "..\\".repeat(up)));
        names.push(format!("{}outside/secret.txt", "\u{ff0e}\u{ff0e}\u{2215}".repeat(up)));
    }
    let fixed = [
        "/proc/self/fd/0",
        "/proc/self/environ",
        "/dev/stdin",
        "a.db",
        "a.db-wal",
        "~/.ssh/id_rsa",
        "CON",
        "\0",
        ".",
    ];
    names.extend(fixed.map(str::to_owned));
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for name in &names.iter().flat_map(|name| [name.clone(), format!("file://{name}")]).collect::<Vec<_>>() {
        let image = json!({"type": "image_url", "image_url": {"url": name}});
        let file = json!({"type": "file", "file": {"filename": name, "file_data": name}});
        let body = json!({"model": "m", "user": name, "prompt_cache_key": name, "metadata": {"path": name},
            "messages": [{"role": "user", "name": "n", "content": [{"type": "text", "text": name}, image, file]}]});
        let mut request = http.post(format!("{}/v1/chat/completions", running.url())).json(&body);
        // Such bytes are illegal in a header.
        if name.is_ascii() && !name.contains('\0') {
            request = request.header("x-unforget-conversation", name).header("session-id", name);
        }
        let response = tokio::time::timeout(std::time::Duration::from_secs(20), request.send()).await;
        let status = response.expect("a pipe was opened").unwrap().status();
        assert!(status == 200 || status == 400, "{name:?}: {status}");
    }
    assert_eq!(files(place_of_all.path(), &own), before, "a file was made");
    let came = upstream.came().clone();
    assert!(came.len() > names.len(), "{} calls", came.len());
    for came in &came {
        assert!(!String::from_utf8_lossy(&came.body).contains("the-secret-words"));
    }
    for conversation in read_all(|page| running.host.engine().store().conversations(page)).unwrap() {
        let mut text = Vec::new();
        running.host.engine().export(conversation.id, None, &mut text).unwrap();
        assert!(!String::from_utf8(text).unwrap().contains("the-secret-words"));
    }
}

/// A body with a field at every place where it might be looked for.
fn everywhere(field: &str, value: &str) -> Vec<Value> {
    let plain = |more: Value| {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "Hello"}]});
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        body
    };
    vec![
        plain(json!({field: value})),
        plain(json!({"metadata": {field: value}})),
        plain(json!({"extra_body": {field: value, "litellm_params": {field: value}}})),
        plain(json!({"provider": {field: value, "order": [value]}})),
        plain(json!({"fallbacks": [{"model": "m", field: value}]})),
        plain(
            json!({"tools": [{"type": "function", "function": {"name": "f", "parameters": {}}, field: value}]}),
        ),
        plain(json!({"messages": [{"role": "user", "content": "Hello", field: value}]})),
        plain(json!({"model": format!("{value}/m")})),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn f113_no_call_names_its_provider() {
    let folder = tempfile::tempdir().unwrap();
    let (running, upstream) = place(folder.path()).await;
    let trap = TcpListener::bind("127.0.0.1:0").unwrap();
    trap.set_nonblocking(true).unwrap();
    let there = format!("http://{}", trap.local_addr().unwrap());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("{}/v1/chat/completions", running.url());
    let mut sent = 0;
    let fields = [
        "api_base",
        "base_url",
        "baseUrl",
        "url",
        "endpoint",
        "api_url",
        "upstream",
        "host",
        "azure_endpoint",
        "proxy",
    ];
    for field in fields {
        for body in everywhere(field, &there) {
            let response = http.post(&url).json(&body).send().await.unwrap();
            assert!(response.status() == 200 || response.status() == 400, "{body}: {}", response.status());
            sent += 1;
        }
    }
    let headers = [
        "x-forwarded-host",
        "x-original-url",
        "x-rewrite-url",
        "x-api-base",
        "x-upstream",
        "forwarded",
        "x-unforget-upstream",
        "x-base-url",
        "x-host",
        "x-real-ip",
        "referer",
        "location",
        "helicone-target-url",
    ];
    for header in headers {
        let body = &everywhere("a", "b")[0];
        let response = http.post(&url).header(header, &there).json(body).send().await.unwrap();
        assert_eq!(response.status(), 200, "{header}");
        sent += 1;
    }
    for path in [
        format!("/v1/{there}"),
        format!("/{there}/v1/models"),
        format!("/v1/models?url={there}"),
        format!("/v1/models@{}", &there[7..]),
    ] {
        http.get(format!("{}{path}", running.url())).send().await.unwrap();
    }
    assert_eq!(trap.accept().map(|_| ()).unwrap_err().kind(), ErrorKind::WouldBlock, "somebody went there");
    let came = upstream.came().len();
    assert!(came >= sent, "{came} of {sent} calls");
}
