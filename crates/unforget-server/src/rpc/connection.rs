//! One connection: lines in, lines out.

use std::collections::HashMap;
use std::io::{BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use serde::Serialize;

use super::frame::{Envelope, Frame, HostLine, Lines, heard};
use super::protocol::{CallDone, CancelParams, Code, Failure};
use super::server::{QueuedCall, Server};

/// Bytes read at once.
const READ: usize = 256 * 1024;

/// Bytes of an answer written at once.
const AT_ONCE: usize = 32 * 1024;

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The peer's input ended; all its calls are answered.
    Input,
    /// The peer asked the server to end; all calls are answered.
    Shutdown,
    /// The peer stopped reading, or reading from it failed.
    Broken,
}

/// The peer of a connection.
pub(super) struct Peer {
    sender: mpsc::Sender<AnswerLine>,
    /// Number of bytes not yet written.
    unread: Arc<AtomicUsize>,
    unread_max: usize,
    is_broken: Arc<AtomicBool>,
    open: Mutex<OpenCalls>,
    answered: Condvar,
}

/// An answer in pieces, to avoid copying a large one.
struct AnswerLine {
    head: String,
    body: String,
    tail: String,
}

impl AnswerLine {
    fn len(&self) -> usize {
        self.head.len() + self.body.len() + self.tail.len()
    }

    fn write(self, output: &mut impl Write) -> std::io::Result<()> {
        let mut head = self.head;
        if self.body.len() < AT_ONCE {
            head.push_str(&self.body);
            head.push_str(&self.tail);
            output.write_all(head.as_bytes())?;
        } else {
            for piece in [head, self.body, self.tail] {
                output.write_all(piece.as_bytes())?;
            }
        }
        output.flush()
    }
}

/// Unanswered calls.
#[derive(Default)]
struct OpenCalls {
    /// Calls whose id is in use.
    by_id: HashMap<Box<str>, Arc<QueuedCall>>,
    /// Number of calls without an answer on its way.
    count: usize,
}

#[derive(Serialize)]
struct Refusal<'a> {
    jsonrpc: &'static str,
    id: Option<&'a serde_json::value::RawValue>,
    error: &'a Failure,
}

impl Server {
    /// Serves a connection until it ends, and answers all calls received before.
    pub fn serve(self: &Arc<Self>, input: impl Read, output: impl Write + Send + 'static) -> Ended {
        let (peer, writer) = Peer::new(output, self.limits.unread_bytes);
        let mut lines = Lines::new(BufReader::with_capacity(READ, input), self.limits.frame_bytes);
        let ended = loop {
            if peer.is_broken.load(Ordering::Acquire) {
                break Ended::Broken;
            }
            let Ok(frame) = lines.next_frame() else { break Ended::Broken };
            match frame {
                Frame::End => break Ended::Input,
                Frame::Line(line) => {
                    if self.line(line, &peer) {
                        break Ended::Shutdown;
                    }
                }
                Frame::TooLong(bytes) => {
                    let most = self.limits.frame_bytes;
                    let what = format!("a line of {bytes} bytes; at most {most} are taken");
                    peer.fail(
                        None,
                        &Failure::new(Code::Invalid, what, "send pages, or digests instead of bodies"),
                    );
                }
                Frame::NotUtf8(at) => {
                    let what = format!("not UTF-8 from byte {at} of the line on");
                    peer.fail(None, &Failure::new(Code::Parse, what, "send JSON in UTF-8"));
                }
            }
        };
        // Questions asked over this connection will not be answered any more.
        self.own.forget(&peer);
        peer.wait();
        drop(peer);
        // The writer ends when no sender is left. A panic in it counts as a broken connection.
        let is_written = writer.is_none_or(|writer| writer.join().is_ok());
        if is_written { ended } else { Ended::Broken }
    }

    /// Handles a line. Returns true if it ends the server.
    fn line(self: &Arc<Self>, line: String, peer: &Arc<Peer>) -> bool {
        let envelope = match heard(&line) {
            Ok(HostLine::Call(envelope)) => envelope,
            Ok(HostLine::Answer { id, outcome }) => {
                let part = |place: std::ops::Range<usize>| line.get(place).unwrap_or_default();
                if !self.own.answered(peer, &id, outcome.map(part).map_err(part)) {
                    let what = "no question with this id is open on this connection";
                    let hint = "answer each question once, and in time";
                    peer.fail(None, &Failure::new(Code::Invalid, what, hint));
                }
                return false;
            }
            Err((id, failure)) => {
                peer.fail(id.as_deref(), &failure);
                return false;
            }
        };
        match (envelope.method.as_str(), &envelope.id) {
            ("$/cancel", _) => cancel(&line, &envelope, peer),
            (_, None) => {
                let what = "there is no `id`, and only $/cancel goes without an answer";
                peer.fail(None, &Failure::new(Code::Invalid, what, "give every call an id of its own"));
            }
            ("shutdown", Some(id)) => {
                self.end();
                peer.answer(id, r#"{"done":true}"#.to_owned(), None);
                return true;
            }
            (_, Some(_)) => self.take(line, envelope, peer),
        }
        false
    }
}

/// Cancels a call. An id that is not in use was answered already.
fn cancel(line: &str, envelope: &Envelope, peer: &Arc<Peer>) {
    let params = envelope.params.clone().and_then(|params| line.get(params)).unwrap_or("{}");
    match serde_json::from_str::<CancelParams<'_>>(params) {
        Ok(params) => {
            let task = peer.open().by_id.get(params.id.get()).map(Arc::clone);
            if let Some(task) = task {
                task.cancel();
            }
            if let Some(id) = &envelope.id {
                let done = serde_json::to_string(&CallDone { done: true }).unwrap_or_default();
                peer.answer(id, done, None);
            }
        }
        Err(error) => peer.fail(envelope.id.as_deref(), &Failure::params(error.to_string())),
    }
}

impl Peer {
    fn new(
        mut output: impl Write + Send + 'static,
        unread_max: usize,
    ) -> (Arc<Self>, Option<thread::JoinHandle<()>>) {
        let (sender, receiver) = mpsc::channel::<AnswerLine>();
        let (unread, is_broken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (left, broken) = (Arc::clone(&unread), Arc::clone(&is_broken));
        let write = move || {
            for line in receiver {
                let length = line.len();
                if !broken.load(Ordering::Acquire) && line.write(&mut output).is_err() {
                    broken.store(true, Ordering::Release);
                }
                left.fetch_sub(length, Ordering::Relaxed);
            }
        };
        let writer = thread::Builder::new().name("unforget-answers".to_owned()).spawn(write);
        if writer.is_err() {
            is_broken.store(true, Ordering::Release);
        }
        let peer =
            Self { sender, unread, unread_max, is_broken, open: Mutex::default(), answered: Condvar::new() };
        (Arc::new(peer), writer.ok())
    }

    /// Registers a call.
    ///
    /// # Errors
    /// If another unanswered call has this id.
    pub(super) fn begin(&self, task: &Arc<QueuedCall>) -> Result<(), Failure> {
        let mut open = self.open();
        if open.by_id.contains_key(&task.id) {
            let what = format!("a call with the id {} is not answered yet", task.id);
            return Err(Failure::new(Code::Invalid, what, "give every call an id of its own"));
        }
        open.by_id.insert(task.id.clone(), Arc::clone(task));
        open.count += 1;
        Ok(())
    }

    /// Frees the id of a call about to be answered: the receiver of the answer may use it again.
    pub(super) fn release(&self, id: &str) {
        self.open().by_id.remove(id);
    }

    /// Notes that a call is answered.
    pub(super) fn finish(&self) {
        self.open().count -= 1;
        self.answered.notify_all();
    }

    /// Sends an answer.
    ///
    /// * `result` - a JSON object.
    /// * `late` - see [`super::protocol::Detail::late`].
    pub(super) fn answer(&self, id: &str, result: String, late: Option<&str>) {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#);
        let (mut body, mut tail) = (result, "}\n".to_owned());
        if let (Some(late), true) = (late, body.ends_with('}')) {
            body.pop();
            let comma = if body.ends_with('{') { "" } else { "," };
            tail = format!("{comma}\"late\":\"{late}\"}}}}\n");
        }
        self.send(AnswerLine { head, body, tail });
    }

    /// Sends a call of ours. Returns whether the peer is still connected.
    ///
    /// * `id` - as JSON.
    pub(super) fn ask(&self, id: &str, method: &str, params: &impl Serialize) -> bool {
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":"#);
        let Ok(body) = serde_json::to_string(params) else { return false };
        self.send(AnswerLine { head, body, tail: "}\n".to_owned() });
        !self.is_broken.load(Ordering::Acquire)
    }

    /// Sends an error.
    pub(super) fn fail(&self, id: Option<&str>, failure: &Failure) {
        // An answer under an id in use would seem to belong to the other call.
        let is_taken =
            failure.code == Code::Invalid.number() && id.is_some_and(|id| self.open().by_id.contains_key(id));
        let id = id.filter(|_| !is_taken).and_then(|id| serde_json::from_str(id).ok());
        let refusal = Refusal { jsonrpc: "2.0", id, error: failure };
        let body = serde_json::to_string(&refusal).unwrap_or_default();
        self.send(AnswerLine { head: String::new(), body, tail: "\n".to_owned() });
    }

    fn send(&self, mut line: AnswerLine) {
        // Raw messages may contain line breaks between tokens; JSON strings contain none.
        if line.body.contains('\n') {
            line.body = line.body.replace('\n', " ");
        }
        let length = line.len();
        if self.unread.fetch_add(length, Ordering::Relaxed) + length > self.unread_max {
            self.is_broken.store(true, Ordering::Release);
        }
        // If the peer has gone away, nobody receives it.
        self.sender.send(line).ok();
    }

    /// Waits until every call is answered.
    fn wait(&self) {
        let mut open = self.open();
        while open.count > 0 {
            open = self.answered.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open(&self) -> MutexGuard<'_, OpenCalls> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
