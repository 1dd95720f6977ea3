-- One row per history. The counters make every append independent of the length of the history.
CREATE TABLE conversation (
  id         INTEGER PRIMARY KEY,
  key        TEXT    NOT NULL UNIQUE,
  format     TEXT    NOT NULL,
  title      TEXT,
  parent     TEXT,              -- key of the conversation that started this one
  revision   INTEGER NOT NULL,  -- committed appends and purges
  entries    INTEGER NOT NULL,  -- next seq
  generations INTEGER NOT NULL, -- next generation number
  chunks     INTEGER NOT NULL,  -- next chunk number
  segments   INTEGER NOT NULL,  -- next segment number
  snapshots  INTEGER NOT NULL,  -- number of the last snapshot
  current    INTEGER NOT NULL,  -- the generation that is now
  length     INTEGER NOT NULL,  -- entries of its path that count
  tokens     INTEGER NOT NULL,
  raw_bytes  INTEGER NOT NULL,
  first_ms   INTEGER,           -- smallest and largest host time
  last_ms    INTEGER
) STRICT;

CREATE TABLE generation (
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,
  parent       INTEGER,           -- generation that the path begins in
  fork         INTEGER,           -- entries of the parent's path that are shared
  opened_by    INTEGER NOT NULL,  -- 0 first sight, 1 branch, 2 rotation
  length       INTEGER NOT NULL,  -- of the whole path
  PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;

-- A generation's own entries: positions position..position+count are seqs seq..seq+count.
CREATE TABLE extent (
  conversation INTEGER NOT NULL,
  generation   INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  count        INTEGER NOT NULL,
  PRIMARY KEY (conversation, generation, position)
) STRICT, WITHOUT ROWID;

-- Rows in order of their only key fill their pages; a key of two columns left an eighth of each empty.
CREATE TABLE entry (
  id           INTEGER PRIMARY KEY,  -- conversation << 32 | seq
  conversation INTEGER AS (id >> 32) VIRTUAL,
  seq          INTEGER AS (id & 0xFFFFFFFF) VIRTUAL,
  seal         INTEGER NOT NULL,  -- 32 bits of BLAKE3 over all other columns
  generation   INTEGER NOT NULL,
  position     INTEGER NOT NULL,
  follows      INTEGER,           -- seq minus parent's seq; NULL at a root
  thread       INTEGER NOT NULL,
  role         INTEGER NOT NULL,  -- 0 system, 1 user, 2 assistant, 3 tool, 4 none
  origin       INTEGER NOT NULL,  -- 0 human, 1 model, 2 tool, 3 injected, 4 host summary, 5 copy, 6 bookkeeping, 7 opaque
  status       INTEGER NOT NULL,  -- 0 complete, 1 aborted, 2 error
  host_id      TEXT,
  time_ms      INTEGER,
  tokens       INTEGER NOT NULL,  -- expected
  tokens_over  INTEGER NOT NULL,  -- upper minus expected
  stubbed      INTEGER,           -- NULL: same as tokens
  stubbed_over INTEGER,
  chain_head   INTEGER NOT NULL,  -- first 4 bytes of the raw chain, little endian
  chain_rest   BLOB    NOT NULL,  -- the other 28
  content      BLOB    NOT NULL,  -- first 16 bytes of the content digest
  byte_start   INTEGER NOT NULL,  -- of the body in the transcript
  byte_len     INTEGER NOT NULL,
  chunk        INTEGER,           -- NULL once purged
  offset       INTEGER NOT NULL,  -- of the lead in the chunk
  lead_len     INTEGER NOT NULL,
  body_len     INTEGER NOT NULL,  -- in the chunk, without holes
  holes        INTEGER NOT NULL   -- how many
) STRICT;
CREATE INDEX entry_chain ON entry (chain_head);

-- Leads and bodies of consecutive entries, end to end, as one zstd frame with a checksum.
CREATE TABLE chunk (
  id           INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,
  first_seq    INTEGER NOT NULL,
  entries      INTEGER NOT NULL,
  raw_len      INTEGER NOT NULL,
  dictionary   INTEGER,
  data         BLOB    NOT NULL,
  UNIQUE (conversation, number)
) STRICT;
CREATE INDEX chunk_small ON chunk (id) WHERE raw_len < 16384 AND dictionary IS NULL;

CREATE TABLE chunk_filter (
  chunk INTEGER PRIMARY KEY,
  data  BLOB NOT NULL
) STRICT;

-- Large parts, content-addressed within their conversation.
CREATE TABLE blob (
  id           INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  digest       BLOB    NOT NULL,
  raw_len      INTEGER NOT NULL,
  data         BLOB    NOT NULL,
  UNIQUE (conversation, digest)
) STRICT;

CREATE TABLE blob_filter (
  blob INTEGER PRIMARY KEY,
  data BLOB NOT NULL
) STRICT;

-- Where a body has a blob in place of bytes.
CREATE TABLE hole (
  conversation INTEGER NOT NULL,
  seq          INTEGER NOT NULL,
  at           INTEGER NOT NULL,  -- offset in the body as received
  blob         INTEGER NOT NULL,
  PRIMARY KEY (conversation, seq, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX hole_blob ON hole (blob, seq);

-- AUTOINCREMENT: a number is never used again, so that no chunk can meet the wrong dictionary.
CREATE TABLE dictionary (
  id     INTEGER PRIMARY KEY AUTOINCREMENT,
  digest BLOB NOT NULL,
  data   BLOB NOT NULL
) STRICT;

CREATE TABLE snapshot (
  id           INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,
  generation   INTEGER NOT NULL,
  length       INTEGER NOT NULL,
  trailer      BLOB    NOT NULL,
  file_bytes   INTEGER NOT NULL,
  path         TEXT    NOT NULL,
  modified_ns  INTEGER NOT NULL,
  time_ms      INTEGER NOT NULL,
  UNIQUE (conversation, number)
) STRICT;
CREATE INDEX snapshot_path ON snapshot (path);

-- The search index: derived, opaque, can be dropped.
CREATE TABLE segment (
  id           INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,
  first_seq    INTEGER NOT NULL,
  end_seq      INTEGER NOT NULL,
  header       BLOB    NOT NULL,
  UNIQUE (conversation, number)
) STRICT;

CREATE TABLE segment_block (
  id      INTEGER PRIMARY KEY,
  segment INTEGER NOT NULL,
  number  INTEGER NOT NULL,
  data    BLOB    NOT NULL,
  UNIQUE (segment, number)
) STRICT;

CREATE TABLE summary (
  id            INTEGER PRIMARY KEY,
  conversation  INTEGER NOT NULL,
  thread        INTEGER NOT NULL,
  grain         INTEGER NOT NULL,
  level         INTEGER NOT NULL,
  end           BLOB    NOT NULL,
  first_seq     INTEGER NOT NULL,
  last_seq      INTEGER NOT NULL,
  count         INTEGER NOT NULL,
  sources       BLOB    NOT NULL,  -- 45 bytes each: thread u64, grain u32, level u8 (little endian), end
  writer        TEXT    NOT NULL,
  body          ANY     NOT NULL,  -- text, or its length (u32, little endian) and zstd where that is smaller
  tokens_source INTEGER NOT NULL,
  tokens_body   INTEGER NOT NULL,
  time_ms       INTEGER NOT NULL,
  UNIQUE (conversation, end, level, grain, thread)
) STRICT;

CREATE TABLE context (
  conversation INTEGER NOT NULL,
  thread       INTEGER NOT NULL,
  budget       INTEGER NOT NULL,
  state        BLOB    NOT NULL,
  PRIMARY KEY (conversation, thread, budget)
) STRICT, WITHOUT ROWID;
