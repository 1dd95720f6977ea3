//! The sessions of Cursor: `state.vscdb`, keys `composerData:SESSION` and `bubbleId:SESSION:BUBBLE` of the table `cursorDiskKV`.
//!
//! The row of a session lists its bubbles in order; older versions hold them inside the row. Source: the code of others that read
//! it (Cursor from 0.43 to 2); not seen.

use crate::schema::{HostSchema, KnownTable, RecordQuery, USER_VERSION};

pub(crate) const SCHEMA: HostSchema = HostSchema {
    host: "Cursor",
    format: "cursor",
    tables: &[
        KnownTable { name: "cursorDiskKV", columns: &["key", "value"] },
        KnownTable { name: "ItemTable", columns: &["key", "value"] },
    ],
    version: USER_VERSION,
    // A session without a bubble is an empty window of the editor.
    sessions: "
        WITH composer(id, data, bytes) AS (
          SELECT substr(key, 14), unpacked(value), octet_length(value) FROM cursorDiskKV
          WHERE key >= 'composerData:' AND key < 'composerData;' AND json_valid(unpacked(value)))
        SELECT id, CAST(coalesce(data ->> '$.lastUpdatedAt', data ->> '$.createdAt', 0) AS INTEGER),
          bytes + CAST((SELECT total(octet_length(value)) FROM cursorDiskKV
            WHERE key >= 'bubbleId:' || id || ':' AND key < 'bubbleId:' || id || ';') AS INTEGER)
        FROM composer
        WHERE json_array_length(data, '$.fullConversationHeadersOnly') > 0 OR json_array_length(data, '$.conversation') > 0
        ORDER BY data ->> '$.createdAt', id",
    records: &[
        RecordQuery::new(
            "session",
            "'session'",
            "key, json_remove(unpacked(value), '$.conversation') AS value",
            "cursorDiskKV WHERE key = 'composerData:' || ?1",
        ),
        RecordQuery::new(
            "message",
            "ifnull(bubble.value ->> '$.bubbleId', '#' || bubble.key)",
            "ifnull(bubble.value ->> '$.bubbleId', '#' || bubble.key) AS key, bubble.value",
            "cursorDiskKV AS composer, json_each(unpacked(composer.value), '$.conversation') AS bubble
             WHERE composer.key = 'composerData:' || ?1 ORDER BY bubble.key",
        ),
        RecordQuery::new(
            "message",
            "substr(bubble.key, 11 + length(?1))",
            "bubble.key, bubble.value",
            "cursorDiskKV AS bubble LEFT JOIN (
               SELECT 'bubbleId:' || ?1 || ':' || (head.value ->> '$.bubbleId') AS key, min(head.key) AS place
               FROM cursorDiskKV AS composer, json_each(unpacked(composer.value), '$.fullConversationHeadersOnly') AS head
               WHERE composer.key = 'composerData:' || ?1 GROUP BY 1) AS listed ON listed.key = bubble.key
             WHERE bubble.key >= 'bubbleId:' || ?1 || ':' AND bubble.key < 'bubbleId:' || ?1 || ';'
               AND bubble.value IS NOT NULL
             ORDER BY listed.place IS NULL, listed.place, bubble.key",
        ),
    ],
};
