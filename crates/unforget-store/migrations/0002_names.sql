-- From here on, `entry.origin` may also be 8: volatile.

-- What live hosts call an entry: ids, idempotency keys, digests of the forms in which it was delivered. A name may
-- belong to several entries, an entry to several names. Written with the entries, so that recognising what is sent
-- again needs no scan.
CREATE TABLE name (
  conversation INTEGER NOT NULL,
  name         BLOB    NOT NULL,  -- 16 bytes
  seq          INTEGER NOT NULL,
  PRIMARY KEY (conversation, name, seq)
) STRICT, WITHOUT ROWID;
