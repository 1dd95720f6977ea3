//! A memory with some conversations, and its clients.
use std::fmt::Write as _;

use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, ServiceExt as _};
use serde_json::Value;
use unforget_engine::Engine;
use unforget_server::mcp::Memory;

/// A client without capabilities.
pub(crate) type Client = RunningService<RoleClient, ()>;

/// How a client of the stateless protocol begins.
pub(crate) fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

/// Imports a pi session with these texts, alternately user and assistant. Its key is `pi:ID`.
pub(crate) fn import(engine: &Engine, id: &str, texts: &[&str]) {
    let mut file = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}}\n"
    );
    for (place, text) in texts.iter().enumerate() {
        let parent = if place > 0 { format!("\"{place:08x}\"") } else { "null".to_owned() };
        let (role, stop) =
            if place % 2 == 0 { ("user", "") } else { ("assistant", r#","stopReason":"stop""#) };
        let text = serde_json::to_string(text).unwrap();
        writeln!(
            file,
            r#"{{"type":"message","id":"{:08x}","parentId":{parent},"timestamp":"2026-01-01T{:02}:{:02}:00.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":{text}}}]{stop}}}}}"#,
            place + 1,
            place / 60,
            place % 60
        )
        .unwrap();
    }
    engine.import_reader(file.as_bytes(), id).unwrap();
}

/// A client in this process.
pub(crate) async fn client(memory: Memory, lifecycle: ClientLifecycleMode) -> Client {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move { memory.serve(theirs).await.unwrap().waiting().await });
    ().serve_with_lifecycle(ours, lifecycle).await.unwrap()
}

/// Calls a tool with these arguments.
pub(crate) async fn call(client: &Client, tool: &str, arguments: &Value) -> CallToolResult {
    let mut params = CallToolRequestParams::new(tool.to_owned());
    params.arguments = arguments.as_object().cloned();
    client.call_tool(params).await.unwrap()
}

/// The text of a result.
pub(crate) fn text(result: &CallToolResult) -> &str {
    result
        .content
        .first()
        .and_then(|block| block.as_text())
        .map(|text| text.text.as_str())
        .unwrap_or_default()
}

/// The JSON of a result.
pub(crate) fn value(result: &CallToolResult) -> &Value {
    result.structured_content.as_ref().unwrap_or(&Value::Null)
}

/// Runs an asynchronous test.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(test)
}
