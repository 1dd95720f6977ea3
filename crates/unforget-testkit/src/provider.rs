//! A scripted provider on 127.0.0.1: the real protocol, with the failures of real providers.
//!
//! ```
//! use unforget_testkit::provider::{Act, Provider, openai};
//!
//! let provider = Provider::start([openai::text("hello"), Act::Hang]);
//! let base = format!("{}/v1", provider.address());
//! // … call it …
//! assert_eq!(provider.heard().len(), 0);
//! # drop(base);
//! ```

mod bodies;
mod serve;

pub use bodies::{anthropic, openai};

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The provider's reaction to one request.
#[derive(Clone, Debug)]
pub enum Act {
    /// Answers.
    Reply(Reply),
    /// Stays silent, and keeps the connection until the provider ends.
    Hang,
    /// Answers with the head at once and the body one byte at a time, pausing after each byte.
    Drip(Reply, Duration),
    /// Answers, but closes the connection after this many bytes of the body, whose full length it announced.
    Truncate(Reply, usize),
    /// Resets the connection after this many bytes of the whole answer, head included.
    Reset(Reply, usize),
    /// Sends these bytes, which are no HTTP, and closes.
    Raw(Vec<u8>),
    /// Answers with the newest message of the request, in the given form.
    Echo(fn(&str) -> Act),
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Headers beside the length and `content-type: application/json`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// An answer in JSON.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    /// This reply with one more header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// `POST`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, values as sent, in order.
    pub headers: Vec<(String, String)>,
    /// The body as sent.
    pub body: Vec<u8>,
}

impl Heard {
    /// The first header of a name, given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` if it is invalid.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A provider that follows its script, one act per request, in order of arrival.
///
/// After the end of the script it answers 500, unless [`Provider::always`] was used, so that a superfluous call is
/// noticed. Dropping it ends it and all hanging connections.
pub struct Provider {
    address: SocketAddr,
    shared: Arc<SharedProvider>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct SharedProvider {
    state: Mutex<ProviderState>,
    ended: Condvar,
}

#[derive(Default)]
struct ProviderState {
    script: VecDeque<Act>,
    always: Option<Act>,
    heard: Vec<Heard>,
    is_over: bool,
}

impl SharedProvider {
    fn lock(&self) -> MutexGuard<'_, ProviderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a request and takes the next act.
    fn next(&self, heard: Heard) -> Act {
        let mut state = self.lock();
        state.heard.push(heard);
        let over = || Act::Reply(Reply::new(500, r#"{"error":{"message":"the script is over"}}"#));
        state.script.pop_front().or_else(|| state.always.clone()).unwrap_or_else(over)
    }

    /// Waits for `time`, or until the provider ends; true if it has ended.
    fn pause(&self, time: Duration) -> bool {
        let held = self.lock();
        let woken = self.ended.wait_timeout_while(held, time, |state| !state.is_over);
        woken.unwrap_or_else(PoisonError::into_inner).0.is_over
    }
}

impl Provider {
    /// Starts a provider with a script.
    ///
    /// # Panics
    /// If no port can be opened, or no thread started, since a test cannot continue then.
    #[allow(clippy::expect_used, reason = "a test cannot go on without its server")]
    pub fn start(script: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("opening a port");
        let address = listener.local_addr().expect("reading the port");
        let shared = Arc::new(SharedProvider::default());
        shared.lock().script.extend(script);
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("scripted-provider".into())
            .spawn(move || accept(&listener, &for_thread))
            .expect("starting a thread");
        Self { address, shared, thread: Some(thread) }
    }

    /// A provider that repeats one act for ever.
    pub fn always(act: Act) -> Self {
        let provider = Self::start([]);
        provider.shared.lock().always = Some(act);
        provider
    }

    /// Its address: `http://127.0.0.1:PORT`.
    pub fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Appends one more act to the script.
    pub fn then(&self, act: Act) {
        self.shared.lock().script.push_back(act);
    }

    /// The requests so far, in order of arrival.
    pub fn heard(&self) -> Vec<Heard> {
        self.shared.lock().heard.clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.ended.notify_all();
        // Wakes the accepting thread.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn accept(listener: &TcpListener, shared: &Arc<SharedProvider>) {
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        if shared.lock().is_over {
            break;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // In many scripts the client goes away in the middle.
        let work = move || drop::<io::Result<()>>(serve::connection(&stream, &shared));
        threads.extend(std::thread::Builder::new().spawn(work));
    }
    for thread in threads {
        drop(thread.join());
    }
}
