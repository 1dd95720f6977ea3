//! A server in this process, and a host that talks to it.
pub(crate) mod served;

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

use serde_json::Value;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::Host;
use unforget_engine::summarise::{Config, Priced, Summarisers, SystemClock};
use unforget_server::rpc::{CallLimits, Ended, Server};

/// One side of a connection.
pub(crate) struct Client {
    input: UnixStream,
    output: BufReader<UnixStream>,
    serving: Option<JoinHandle<Ended>>,
}

/// A server without persistent storage.
pub(crate) fn server(limits: CallLimits) -> Arc<Server> {
    Server::new(Host::new(Engine::in_memory(), || Timestamp(1_795_000_000_000)), limits)
}

/// A server whose questions are answered by the host's own model.
pub(crate) fn server_with_models(limits: CallLimits) -> Arc<Server> {
    let engine = Engine::in_memory();
    let server = Server::new(Host::new(engine.clone(), || Timestamp(1_795_000_000_000)), limits);
    server.may_ask_host(true);
    let own = Priced::from(server.own_model());
    let clock = Arc::new(SystemClock::new());
    let models = Summarisers::new(&engine, own, vec![], Config::default(), clock).unwrap();
    server.models().set(Some(Arc::new(models)));
    server
}

/// Delays the first call of a lane while it runs.
pub(crate) struct Gate {
    begun: mpsc::Receiver<()>,
    open: mpsc::Sender<()>,
}

impl Gate {
    /// Waits until the call begins.
    pub(crate) fn wait(&self) {
        self.begun.recv().unwrap();
    }

    /// Lets the call continue.
    pub(crate) fn open(self) {
        self.open.send(()).unwrap();
    }
}

/// A server whose first call of a lane waits at a gate.
pub(crate) fn gated(limits: CallLimits) -> (Arc<Server>, Gate) {
    let ((begin, begun), (open, opened)) = (mpsc::channel(), mpsc::channel());
    let (opened, is_first) = (Mutex::new(opened), AtomicBool::new(true));
    let clock = move || {
        if is_first.swap(false, Ordering::SeqCst) {
            begin.send(()).unwrap();
            opened.lock().unwrap().recv().unwrap();
        }
        Timestamp(1_795_000_000_000)
    };
    (Server::new(Host::new(Engine::in_memory(), clock), limits), Gate { begun, open })
}

impl Client {
    pub(crate) fn new(limits: CallLimits) -> Self {
        Self::of(&server(limits))
    }

    /// Another connection to a server.
    pub(crate) fn of(server: &Arc<Server>) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = Arc::clone(server);
        let serving = std::thread::spawn(move || server.serve(&theirs, theirs.try_clone().unwrap()));
        Self { input: ours.try_clone().unwrap(), output: BufReader::new(ours), serving: Some(serving) }
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).unwrap();
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn answer(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Sends a call and waits for its answer.
    pub(crate) fn call(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(
            &serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
                .to_string(),
        );
        let answer = self.answer();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Ends the input.
    pub(crate) fn finish(&mut self) {
        self.input.shutdown(Shutdown::Write).unwrap();
    }

    /// Whether the connection ended without a further answer.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.finish();
        self.serving.take().unwrap().join().unwrap();
        self.line().is_empty()
    }
}
