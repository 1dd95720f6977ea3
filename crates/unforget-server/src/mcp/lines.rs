//! Lines of a client: those that are no message are answered here, the others go on to the SDK.
//!
//! The SDK drops what is no JSON, and answers a message of a wrong shape without the id that its sender waits for.

use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
};
use tokio::sync::mpsc;

/// Longest line of a client, as in the SDK.
const LINE_MAX: usize = 16 << 20;

/// Bytes between the SDK and the client on the way.
const BETWEEN: usize = 1 << 16;

/// Answers on their way to the client.
const ANSWERS: usize = 64;

/// The SDK's end of a connection, and the work that moves the lines.
pub(super) struct CheckedLines {
    /// For the SDK.
    pub(super) end: (DuplexStream, DuplexStream),
    /// Ends when everything is written that the SDK and the checks answered.
    pub(super) written: tokio::task::JoinHandle<()>,
}

/// Puts the check between a client and the SDK.
pub(super) fn checked<R, W>(input: R, output: W) -> CheckedLines
where
    R: AsyncBufRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (to_sdk, sdk_reads) = tokio::io::duplex(BETWEEN);
    let (sdk_writes, from_sdk) = tokio::io::duplex(BETWEEN);
    let (answers, waiting) = mpsc::channel(ANSWERS);
    tokio::spawn(read(input, to_sdk, answers.clone()));
    tokio::spawn(collect(from_sdk, answers));
    CheckedLines { end: (sdk_reads, sdk_writes), written: tokio::spawn(write(output, waiting)) }
}

/// Sends each line to the SDK, or its refusal to the client.
async fn read<R>(mut input: R, mut to_sdk: DuplexStream, answers: mpsc::Sender<Vec<u8>>)
where
    R: AsyncBufRead + Send + Unpin,
{
    while let Some(line) = next_line(&mut input).await {
        let refused = match &line {
            Line::Whole(bytes) => refusal(bytes),
            Line::TooLong => Some(error(&Value::Null, -32600, "the line is longer than 16 MiB")),
        };
        let sent = match (refused, line) {
            (Some(refused), _) => answers.send(format!("{refused}\n").into_bytes()).await.is_ok(),
            (None, Line::Whole(bytes)) => to_sdk.write_all(&bytes).await.is_ok(),
            (None, Line::TooLong) => true,
        };
        if !sent {
            break;
        }
    }
}

/// A line with its end, or one that is not kept.
enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// The next line; `None` at the end, where a line without an end is no message.
async fn next_line<R: AsyncBufRead + Unpin>(input: &mut R) -> Option<Line> {
    let (mut line, mut is_long) = (Vec::new(), false);
    loop {
        let available = input.fill_buf().await.ok().filter(|bytes| !bytes.is_empty())?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        is_long |= line.len() + taken > LINE_MAX;
        if is_long {
            line = Vec::new();
        } else {
            line.extend(available.iter().take(taken));
        }
        input.consume(taken);
        if end.is_some() {
            return Some(if is_long { Line::TooLong } else { Line::Whole(line) });
        }
    }
}

/// Passes on what the SDK says, a line at a time.
async fn collect(from_sdk: DuplexStream, answers: mpsc::Sender<Vec<u8>>) {
    let mut from_sdk = BufReader::new(from_sdk);
    let mut line = Vec::new();
    while from_sdk.read_until(b'\n', &mut line).await.is_ok_and(|length| length > 0) {
        if answers.send(std::mem::take(&mut line)).await.is_err() {
            break;
        }
    }
}

/// Writes whole lines until nobody answers any more.
async fn write<W: AsyncWrite + Unpin>(mut output: W, mut waiting: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = waiting.recv().await {
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            break;
        }
    }
}

/// The answer to what is no message; `None` for a message, which the SDK answers, and for an empty line.
///
/// Cost: O(bytes).
pub(super) fn refusal(line: &[u8]) -> Option<Value> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return None;
    }
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Some(no_json());
    };
    let id = message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64());
    let method = message.get("method").and_then(Value::as_str);
    let (Some(id), Some(method)) = (id, method) else {
        // What asks for nothing gets no answer: notifications, and answers to the server.
        let is_told = message.is_object() && message.get("id").is_none() && method.is_some();
        let is_answer = message.get("result").or_else(|| message.get("error")).is_some();
        let wrong = "invalid request: no JSON-RPC message with a method and an id";
        return (!is_told && !is_answer).then(|| error(&Value::Null, -32600, wrong));
    };
    match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
        Ok(ClientJsonRpcMessage::Request(request)) => match request.request {
            // The SDK takes what it knows for unknown if the parameters have another shape.
            ClientRequest::CustomRequest(_) if KNOWN.contains(&method) => {
                Some(error(id, -32602, &format!("invalid params: {method} takes others")))
            }
            _ => None,
        },
        Ok(_) => None,
        Err(_) if KNOWN.contains(&method) => {
            Some(error(id, -32602, &format!("invalid params: {method} takes others")))
        }
        Err(_) => Some(error(id, -32600, "invalid request: no JSON-RPC 2.0 message")),
    }
}

/// The answer to what is no JSON.
pub(super) fn no_json() -> Value {
    error(&Value::Null, -32700, "parse error: this is no JSON")
}

/// Methods with parameters that this server answers.
const KNOWN: [&str; 6] = [
    "initialize",
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
];

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_table() {
        /// Code and id of the error that answers a line.
        type Answer = Option<(i64, Value)>;
        let table: [(&str, Answer, &str); 17] = [
            (
                r#"{"jsonrpc":"2.0","id":17,"method":"tools/call","params":[]}"#,
                Some((-32602, json!(17))),
                "a list of parameters",
            ),
            (
                r#"{"jsonrpc":"2.0","id":18,"method":"tools/call"}"#,
                Some((-32602, json!(18))),
                "no parameters",
            ),
            (
                r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":7}}"#,
                Some((-32602, json!("a"))),
                "a name that is none",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}"#,
                Some((-32602, json!(1))),
                "no address",
            ),
            (r#"{"jsonrpc":"1.0","id":2,"method":"ping"}"#, Some((-32600, json!(2))), "another version"),
            ("{", Some((-32700, Value::Null)), "cut"),
            ("no json", Some((-32700, Value::Null)), "words"),
            ("\u{0}", Some((-32700, Value::Null)), "a control character"),
            ("[]", Some((-32600, Value::Null)), "a batch"),
            ("7", Some((-32600, Value::Null)), "a number"),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
                Some((-32600, Value::Null)),
                "an id that is none",
            ),
            (r#"{"jsonrpc":"2.0","id":3,"method":"no/such"}"#, None, "the SDK knows no such method"),
            (r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#, None, "a message"),
            (
                r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"search","arguments":{}}}"#,
                None,
                "a call",
            ),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, None, "a notification"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, None, "an answer to the server"),
            ("", None, "an empty line"),
        ];
        for (line, want, why) in table {
            let refused = refusal(line.as_bytes());
            let found = refused.map(|value| (value["error"]["code"].as_i64().unwrap(), value["id"].clone()));
            assert_eq!(found, want, "{why}: {line}");
        }
    }
}
