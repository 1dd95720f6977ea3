//! What people said of a conversation, as far as prompts show it, in one round trip.

use unforget_core::id::ConversationId;
use unforget_store::SaidRows;
use unforget_store::backend::int;

use crate::conn::{Conn, Values};
use crate::fault::Outcome;
use crate::{pins, raised, verdicts};

/// Prepares the statements, so that they travel together.
pub(crate) async fn prepare(conn: &Conn) -> Outcome<()> {
    for sql in [pins::ALL, pins::FILES, verdicts::ALL, raised::ALL] {
        conn.prepare(sql).await?;
    }
    Ok(())
}

/// See [`unforget_store::Summaries::said`]. The statements are prepared.
pub(crate) async fn all(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<SaidRows> {
    let conversation = int(id.0);
    let of: Values<'_> = &[&tenant, &conversation];
    let (pins, files, verdicts, raised) = tokio::join!(
        biased;
        conn.rows(pins::ALL, of),
        conn.rows(pins::FILES, of),
        conn.rows(verdicts::ALL, of),
        conn.rows(raised::ALL, of),
    );
    Ok(SaidRows {
        pins: pins?.iter().map(pins::read).collect::<Outcome<_>>()?,
        files: files?.iter().map(pins::read_file).collect::<Outcome<_>>()?,
        verdicts: verdicts?.iter().map(verdicts::read).collect::<Outcome<_>>()?,
        raised: raised?.iter().map(raised::read).collect::<Outcome<_>>()?,
    })
}
