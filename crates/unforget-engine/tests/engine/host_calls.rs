//! Calls of clients: how often a call asks the store, and what it notices of other hosts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use unforget_core::id::Timestamp;
use unforget_core::tokens::Tokens;
use unforget_engine::Engine;
use unforget_engine::host::{
    Array, Asking, Brings, Counted, DeliveredAnswer, DeliveredArray, EndedCall, Host, HostCall, Recognised,
    RegisterAnswer, WriteLatency,
};
use unforget_store::{
    DerivedNumbers, DerivedRows, LaneLook, LaneRows, MemoryStore, Name, NamedEntry, Store, StoreLayer,
};
use unforget_wire::Format;

const CHAT: Format = Format::OpenAiChat;

const ASKING: Asking<'static> = Asking {
    tenant: "default",
    session: Some("s"),
    is_named: false,
    user: None,
    kind: "",
    is_bare: false,
    form: CHAT,
};

/// A store that notes the looks at lanes, and counts the other questions about names and the writes of derived rows.
struct Noted {
    inner: Arc<dyn Store>,
    looks: Mutex<Vec<usize>>,
    others: AtomicUsize,
}

impl StoreLayer for Noted {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn lane_rows(&self, looks: &[LaneLook<'_>]) -> unforget_store::Result<Vec<LaneRows>> {
        self.looks.lock().unwrap().push(looks.len());
        self.inner.lane_rows(looks)
    }

    fn named(
        &self,
        id: unforget_core::id::ConversationId,
        names: &[Name],
    ) -> unforget_store::Result<Vec<NamedEntry>> {
        self.others.fetch_add(1, Ordering::Relaxed);
        self.inner.named(id, names)
    }

    fn put_derived(
        &self,
        id: unforget_core::id::ConversationId,
        rows: DerivedRows<'_>,
    ) -> unforget_store::Result<DerivedNumbers> {
        self.others.fetch_add(1, Ordering::Relaxed);
        self.inner.put_derived(id, rows)
    }
}

/// A client of one conversation.
struct Client {
    messages: Vec<String>,
}

impl Client {
    /// Asks and gets an answer through a host. Returns the lane.
    fn call(&mut self, host: &Host) -> Recognised {
        let turn = self.messages.len();
        self.messages.push(format!(r#"{{"role":"user","content":"question {turn}"}}"#));
        let array = read(&self.messages);
        let call = HostCall::begin();
        let (lane, asked_at) = host.within(call, || {
            let lane = host.recognise(&ASKING, &array).unwrap();
            let brought = DeliveredArray { brings: Brings::All, array: &array };
            let taken = host.take(&lane.lane, CHAT, brought, Some("{}")).unwrap();
            assert_eq!(taken.added, 1, "only the question is new");
            (lane, taken.head)
        });
        let answer = format!(r#"{{"role":"assistant","content":"answer {turn}"}}"#);
        let answered = DeliveredAnswer {
            asked_at,
            messages: vec![answer.clone().into_bytes()],
            latency: WriteLatency::Now,
            ..DeliveredAnswer::default()
        };
        let input = 100 + turn as u64;
        let counted =
            Counted { head: asked_at, as_sent: Some(Tokens::exact(input)), input, ..Counted::default() };
        host.within(call, || {
            let ended = EndedCall {
                answered: &answered,
                counted: Some(&counted),
                recalled: None,
                standing: None,
                rounds: None,
            };
            host.ended(&lane.lane, CHAT, &ended).unwrap();
            let remembered = RegisterAnswer { id: None, latency: WriteLatency::Now };
            host.remember(&ASKING, &lane, &array.said(), remembered).unwrap();
        });
        self.messages.push(answer);
        lane
    }
}

fn read(messages: &[String]) -> Array {
    Array::read(CHAT, messages.iter().map(String::as_bytes), &Array::default()).unwrap()
}

fn noted(store: &Arc<dyn Store>) -> Arc<Noted> {
    Arc::new(Noted { inner: Arc::clone(store), looks: Mutex::default(), others: AtomicUsize::new(0) })
}

fn host(store: &Arc<Noted>) -> Host {
    Host::new(Engine::on(Arc::clone(store) as Arc<dyn Store>), || Timestamp(7))
}

/// Register and lane are compared at once, an answer needs no look at its names, and what the lane learned goes with it.
#[test]
fn a_call_asks_the_store_once_before_it_writes() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let noted = noted(&store);
    let host = host(&noted);
    let mut client = Client { messages: Vec::new() };
    client.call(&host);
    client.call(&host);
    for _ in 0..3 {
        noted.looks.lock().unwrap().clear();
        noted.others.store(0, Ordering::Relaxed);
        client.call(&host);
        assert_eq!(*noted.looks.lock().unwrap(), [2], "one look at two lanes");
        assert_eq!(noted.others.load(Ordering::Relaxed), 0, "nothing is read or written by itself");
    }
}

/// The guess at the lane and everything in memory may be old: another host served the conversation meanwhile.
#[test]
fn a_call_notices_what_another_host_stored_before_it() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let hosts = [noted(&store), noted(&store)].map(|noted| host(&noted));
    let mut client = Client { messages: Vec::new() };
    let lane = client.call(&hosts[0]);
    for turn in [0, 1, 1, 0, 0, 0, 1, 0, 1] {
        assert_eq!(client.call(&hosts[turn]), lane, "no second lane");
    }
    for host in &hosts {
        let path = host.path(&lane.lane, CHAT).unwrap();
        assert_eq!(path, client.messages);
    }
    let learned: Vec<_> =
        hosts.iter().map(|host| host.known_lane(&lane.lane, CHAT, None).unwrap().cap).collect();
    assert_eq!(learned[0], learned[1]);
}
