//! One connection.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Connection, NoTls, Row, Socket, Statement};

use crate::fault::{Fault, Outcome, told};
use crate::place::PgPlace;
use crate::tls::PgTls;
use crate::trips::{Trips, Waiting};

/// Values of a statement.
pub(crate) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A transaction that writes nothing but a record of the log, and waits until that is as safe as a commit. What is read
/// behind it is not less safe: a server that was started again may show commits that no standby has yet.
const BARRIER: &str = "SELECT pg_logical_emit_message(true, 'unforget', '')";

/// A process that stops in the middle of a short transaction gives its rows back after this time.
const STOPPED: &str = "SET idle_in_transaction_session_timeout = '10s'";

/// A connection behind its barrier.
pub(crate) struct Conn {
    client: Client,
    statements: Mutex<BTreeMap<String, Statement>>,
    warning: Arc<Mutex<Option<String>>>,
    waiting: Waiting,
}

impl Conn {
    /// Connects and passes the barrier.
    pub(crate) async fn open(place: &PgPlace, trips: Trips) -> Outcome<Self> {
        let opened = tokio::time::timeout(CONNECT, Self::opened(place, trips)).await;
        opened.unwrap_or_else(|_| Err(Fault::Unreachable("no answer in 10 seconds".to_owned())))
    }

    async fn opened(place: &PgPlace, trips: Trips) -> Outcome<Self> {
        let warning = Arc::new(Mutex::new(None));
        let client = connect(place, Heard { warning: Arc::clone(&warning), notifications: None }).await?;
        let conn = Self { client, statements: Mutex::default(), warning, waiting: Waiting::new(trips) };
        conn.client.batch_execute(STOPPED).await.map_err(|error| Fault::Unreachable(told(&error)))?;
        conn.client.batch_execute(BARRIER).await.map_err(|error| Fault::Unreachable(told(&error)))?;
        match conn.take_warning() {
            Some(words) => Err(Fault::Unreachable(words)),
            None => Ok(conn),
        }
    }

    /// Whether the connection has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Counts the round trips that follow for an operation.
    pub(crate) fn begin(&self, operation: &'static str) {
        self.waiting.begin(operation);
    }

    /// The last warning since the call before.
    pub(crate) fn take_warning(&self) -> Option<String> {
        locked(&self.warning).take()
    }

    /// Runs statements without values.
    pub(crate) async fn batch(&self, sql: &str) -> Outcome<()> {
        let _message = self.waiting.message();
        Ok(self.client.batch_execute(sql).await?)
    }

    /// The rows of a statement.
    pub(crate) async fn rows(&self, sql: &str, values: Values<'_>) -> Outcome<Vec<Row>> {
        let statement = self.prepared(sql).await?;
        let _message = self.waiting.message();
        Ok(self.client.query(&statement, values).await?)
    }

    /// The first row of a statement.
    pub(crate) async fn row(&self, sql: &str, values: Values<'_>) -> Outcome<Option<Row>> {
        Ok(self.rows(sql, values).await?.into_iter().next())
    }

    /// Runs a statement and returns the number of rows that it wrote.
    pub(crate) async fn run(&self, sql: &str, values: Values<'_>) -> Outcome<u64> {
        let statement = self.prepared(sql).await?;
        let _message = self.waiting.message();
        Ok(self.client.execute(&statement, values).await?)
    }

    /// Prepares a statement, so that its next use is one message.
    pub(crate) async fn prepare(&self, sql: &str) -> Outcome<()> {
        self.prepared(sql).await.map(drop)
    }

    async fn prepared(&self, sql: &str) -> Outcome<Statement> {
        let known = locked(&self.statements).get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let message = self.waiting.message_of("prepare");
        let statement = self.client.prepare(sql).await?;
        drop(message);
        locked(&self.statements).insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

/// A connection that hears what is told on a channel of the database.
pub(crate) struct Hearing {
    texts: UnboundedReceiver<String>,
    /// The connection ends with it.
    _client: Client,
}

impl Hearing {
    /// Connects and begins to hear.
    pub(crate) async fn open(place: &PgPlace, channel: &str) -> Outcome<Self> {
        let (notifications, texts) = unbounded_channel();
        let heard = Heard { warning: Arc::default(), notifications: Some(notifications) };
        let opened = tokio::time::timeout(CONNECT, async {
            let client = connect(place, heard).await?;
            client.batch_execute(&format!("LISTEN {channel}")).await?;
            Ok(Self { texts, _client: client })
        });
        opened.await.unwrap_or(Err(Fault::Late))
    }

    /// The next message; `None` once the connection has ended.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.texts.recv().await
    }
}

/// Where the server's own messages go.
struct Heard {
    /// The last warning.
    warning: Arc<Mutex<Option<String>>>,
    /// Notifications.
    notifications: Option<UnboundedSender<String>>,
}

/// Connects, and carries the connection's messages in a task of its own.
async fn connect(place: &PgPlace, heard: Heard) -> Outcome<Client> {
    let failed = |error| Fault::Unreachable(told(&error));
    let tls = PgTls::new(place.protection()).map_err(|error| Fault::Unreachable(error.to_string()))?;
    Ok(match tls {
        None => {
            let (client, connection) = place.config().connect(NoTls).await.map_err(failed)?;
            tokio::spawn(listen(connection, heard));
            client
        }
        Some(tls) => {
            let (client, connection) = place.config().connect(tls).await.map_err(failed)?;
            tokio::spawn(listen(connection, heard));
            client
        }
    })
}

/// Carries the messages of a connection until it ends.
async fn listen<S>(mut connection: Connection<Socket, S>, heard: Heard)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        match message {
            AsyncMessage::Notice(notice) if is_warning(&notice) => {
                *locked(&heard.warning) = Some(notice.message().to_owned());
            }
            AsyncMessage::Notification(told) => {
                // Nobody hears any more when the process ends.
                if let Some(texts) = &heard.notifications {
                    texts.send(told.payload().to_owned()).ok();
                }
            }
            _ => {}
        }
    }
}

/// The result of a future, or [`Fault::Late`].
pub(crate) async fn timed<T>(most: Duration, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    tokio::time::timeout(most, work).await.unwrap_or(Err(Fault::Late))
}

/// Whether a word of the server is a warning.
fn is_warning(notice: &DbError) -> bool {
    notice.parsed_severity() == Some(Severity::Warning) || notice.severity() == "WARNING"
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
