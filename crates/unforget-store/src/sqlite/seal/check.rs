//! All rows of a table at once: looked at, or given their first seals.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use unforget_core::id::ConversationId;

use super::{SealedTable, Seals, WhenBroken};
use crate::sqlite::fault::Outcome;

/// Broken rows of a table that belong to one conversation, or to none that is known.
pub(in crate::sqlite) struct BrokenOf {
    pub(in crate::sqlite) conversation: Option<ConversationId>,
    pub(in crate::sqlite) table: &'static SealedTable,
    pub(in crate::sqlite) rows: u64,
    /// Their numbers, if they stay until a person takes them away.
    pub(in crate::sqlite) numbers: Vec<i64>,
}

/// Looks at every row of a table.
pub(in crate::sqlite) fn check_all(
    conn: &Connection,
    seals: &Seals,
    table: &'static SealedTable,
) -> Outcome<Vec<BrokenOf>> {
    let mut select = conn.prepare(&table.query("").sql)?;
    let mut rows = select.query([])?;
    let mut broken: BTreeMap<Option<ConversationId>, BrokenOf> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        if seals.look(table, row)?.is_some() {
            continue;
        }
        let conversation = table.conversation_of(row);
        let new = BrokenOf { conversation, table, rows: 0, numbers: Vec::new() };
        let of = broken.entry(conversation).or_insert(new);
        of.rows += 1;
        if let (WhenBroken::Stays, Some(Value::Integer(number))) =
            (table.when_broken, table.name_of(row)?.key.last())
        {
            of.numbers.push(*number);
        }
    }
    Ok(broken.into_values().collect())
}

/// Seals all rows of a table that have none: they were written before there were seals.
pub(in crate::sqlite) fn seal_all(tx: &Connection, table: &'static SealedTable) -> Outcome<()> {
    let condition = table.key.iter().map(|column| format!("{column} IS ?")).collect::<Vec<_>>().join(" AND ");
    let mut update = tx.prepare(&format!("UPDATE {} SET seal = ? WHERE {condition}", table.name))?;
    let mut select = tx.prepare(&table.query("").sql)?;
    let mut rows = select.query([])?;
    let mut sealed = Vec::new();
    while let Some(row) = rows.next()? {
        let mut values = Vec::with_capacity(table.values());
        for at in 0..table.values() {
            values.push(row.get_ref(at)?);
        }
        sealed.push((table.seal(values.into_iter()), table.name_of(row)?));
    }
    drop(rows);
    for (seal, name) in sealed {
        let seal = Value::from(seal);
        update.execute(params_from_iter([&seal].into_iter().chain(&name.key)))?;
    }
    Ok(())
}
