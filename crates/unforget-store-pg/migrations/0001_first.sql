-- Every key begins with the tenant. Words of people and hosts are bytes of UTF-8: text of PostgreSQL cannot hold U+0000.

CREATE TABLE unforget.tenant (
  id   int    PRIMARY KEY,
  name bytea  NOT NULL UNIQUE,
  next bigint NOT NULL          -- id of its next conversation
);

-- One row per history. The counters make every append independent of the length of the history; `revision` is what a
-- commit compares. No index on what an append changes, and room on the page: its updates touch no index.
CREATE TABLE unforget.conversation (
  tenant      int    NOT NULL,
  id          bigint NOT NULL,
  key_digest  bytea  NOT NULL,  -- 32 bytes: a key of any length must fit the index
  key         bytea  NOT NULL,
  format      bytea  NOT NULL,
  title       bytea,
  parent      bytea,            -- key of the conversation that started this one
  revision    bigint NOT NULL,  -- committed appends and purges
  entries     bigint NOT NULL,  -- next seq
  generations bigint NOT NULL,  -- next generation number
  chunks      bigint NOT NULL,  -- next chunk number
  segments    bigint NOT NULL,  -- next segment number
  snapshots   bigint NOT NULL,  -- number of the last snapshot
  current     bigint NOT NULL,  -- the generation that is now
  length      bigint NOT NULL,  -- entries of its path that count
  tokens      bigint NOT NULL,
  raw_bytes   bigint NOT NULL,
  first_ms    bigint,           -- smallest and largest host time
  last_ms     bigint,
  probed      bigint NOT NULL,  -- looks at a commit with an unknown outcome
  PRIMARY KEY (tenant, id),
  UNIQUE (tenant, key_digest)
) WITH (fillfactor = 50);

CREATE TABLE unforget.generation (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,
  parent       bigint,            -- generation that the path begins in
  fork         bigint,            -- entries of the parent's path that are shared
  opened_by    bigint NOT NULL,   -- 0 first sight, 1 branch, 2 rotation
  length       bigint NOT NULL,   -- of the whole path
  PRIMARY KEY (tenant, conversation, number)
) WITH (fillfactor = 50);

-- A generation's own entries: positions position..position+count are seqs seq..seq+count.
CREATE TABLE unforget.extent (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  generation   bigint NOT NULL,
  position     bigint NOT NULL,
  seq          bigint NOT NULL,
  count        bigint NOT NULL,
  PRIMARY KEY (tenant, conversation, generation, position)
) WITH (fillfactor = 50);

-- `facts` are the packed facts of an entry with their seal: see src/facts.rs.
CREATE TABLE unforget.entry (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  seq          bigint NOT NULL,
  chunk        bigint,            -- NULL once purged
  chain_head   int    NOT NULL,   -- first 4 bytes of the raw chain, little endian
  chain        bytea  NOT NULL,   -- all 32
  facts        bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, seq)
);
CREATE INDEX entry_chain ON unforget.entry (tenant, conversation, chain_head);

-- Leads and bodies of consecutive entries, end to end, as one zstd frame with a checksum.
CREATE TABLE unforget.chunk (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,
  first_seq    bigint NOT NULL,
  entries      bigint NOT NULL,
  raw_len      bigint NOT NULL,
  data         bytea  NOT NULL,
  filter       bytea  NOT NULL,   -- empty: anything may be in the bytes
  PRIMARY KEY (tenant, conversation, number)
);
ALTER TABLE unforget.chunk ALTER COLUMN data SET STORAGE EXTERNAL, ALTER COLUMN filter SET STORAGE EXTERNAL;

-- Large parts, content-addressed within their conversation.
CREATE TABLE unforget.blob (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  digest       bytea  NOT NULL,
  raw_len      bigint NOT NULL,
  data         bytea  NOT NULL,
  filter       bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, digest)
);
ALTER TABLE unforget.blob ALTER COLUMN data SET STORAGE EXTERNAL, ALTER COLUMN filter SET STORAGE EXTERNAL;

-- Where a body has a blob in place of bytes.
CREATE TABLE unforget.hole (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  seq          bigint NOT NULL,
  at           bigint NOT NULL,   -- offset in the body as received
  digest       bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, seq, at)
);
CREATE INDEX hole_blob ON unforget.hole (tenant, conversation, digest, seq);

CREATE TABLE unforget.snapshot (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,
  stored       bigint GENERATED ALWAYS AS IDENTITY,  -- later snapshots of a path have larger ones
  generation   bigint NOT NULL,
  length       bigint NOT NULL,
  trailer      bytea  NOT NULL,
  file_bytes   bigint NOT NULL,
  path_digest  bytea  NOT NULL,
  path         bytea  NOT NULL,
  modified_ns  bigint NOT NULL,
  time_ms      bigint NOT NULL,
  PRIMARY KEY (tenant, conversation, number)
);
CREATE INDEX snapshot_path ON unforget.snapshot (tenant, path_digest, stored);

-- The search index: derived, opaque, can be dropped.
CREATE TABLE unforget.segment (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,
  first_seq    bigint NOT NULL,
  end_seq      bigint NOT NULL,
  header       bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, number)
);
ALTER TABLE unforget.segment ALTER COLUMN header SET STORAGE EXTERNAL;

CREATE TABLE unforget.segment_block (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  segment      bigint NOT NULL,
  number       bigint NOT NULL,
  data         bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, segment, number)
);
ALTER TABLE unforget.segment_block ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE unforget.summary (
  tenant        int    NOT NULL,
  conversation  bigint NOT NULL,
  thread        bigint NOT NULL,
  grain         bigint NOT NULL,
  level         bigint NOT NULL,
  "end"         bytea  NOT NULL,
  first_seq     bigint NOT NULL,
  last_seq      bigint NOT NULL,
  count         bigint NOT NULL,
  sources       bytea  NOT NULL,  -- 45 bytes each
  writer        bytea  NOT NULL,
  body          bytea  NOT NULL,
  tokens_source bigint NOT NULL,
  tokens_body   bigint NOT NULL,
  time_ms       bigint NOT NULL,
  PRIMARY KEY (tenant, conversation, "end", level, grain, thread)
);
CREATE INDEX summary_place ON unforget.summary (tenant, conversation, first_seq, last_seq);
CREATE INDEX summary_before ON unforget.summary (tenant, conversation, level, grain, thread, last_seq);

-- Summaries that a model wrote, beside those that need none. Columns as in `summary`.
CREATE TABLE unforget.rewrite (LIKE unforget.summary,
  PRIMARY KEY (tenant, conversation, "end", level, grain, thread));

CREATE TABLE unforget.context (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  thread       bigint NOT NULL,
  budget       bigint NOT NULL,
  state        bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, thread, budget)
);

-- What live hosts call an entry.
CREATE TABLE unforget.name (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  name         bytea  NOT NULL,  -- 16 bytes
  seq          bigint NOT NULL,
  PRIMARY KEY (tenant, conversation, name, seq)
);
CREATE INDEX name_seq ON unforget.name (tenant, conversation, seq);

-- Summaries that a model should write. A row stays when it is done, so that nothing is asked for twice.
CREATE TABLE unforget.job (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  thread       bigint NOT NULL,
  grain        bigint NOT NULL,
  level        bigint NOT NULL,
  "end"        bytea  NOT NULL,
  first_seq    bigint NOT NULL,
  last_seq     bigint NOT NULL,
  state        bigint NOT NULL,  -- 0 waiting, 1 leased, 2 done, 3 given up
  due_ms       bigint NOT NULL,  -- waiting: not before; leased: the lease ends; else when that was
  attempts     bigint NOT NULL,  -- times taken; names the lease
  why          bytea  NOT NULL,  -- how the last attempt ended
  PRIMARY KEY (tenant, conversation, "end", level, grain, thread)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01);
CREATE INDEX job_open ON unforget.job (tenant, conversation) WHERE state IN (0, 1);

-- What calls of models cost, by hours since 1970.
CREATE TABLE unforget.spend (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  kind         int    NOT NULL,  -- 0 summaries, 1 vectors
  hour         bigint NOT NULL,
  calls        bigint NOT NULL,
  input        bigint NOT NULL,
  output       bigint NOT NULL,
  micros       bigint NOT NULL,
  PRIMARY KEY (tenant, conversation, kind, hour)
);

-- Whether an account may be called. Holds no secret.
CREATE TABLE unforget.breaker (
  tenant     int   NOT NULL,
  provider   bytea NOT NULL,
  credential bytea NOT NULL,
  state      bytea NOT NULL,
  PRIMARY KEY (tenant, provider, credential)
);

CREATE TABLE unforget.decision (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,  -- from 1
  seq          bigint NOT NULL,
  time_ms      bigint NOT NULL,
  looked       bytea  NOT NULL,
  decided      bytea  NOT NULL,
  why          bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, number)
);

CREATE TABLE unforget.pin (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,  -- dense, from 1
  text         bytea  NOT NULL,
  source       bigint,           -- the entry that the words come from
  state        bigint NOT NULL,  -- 0 active, 1 retired, 2 superseded
  successor    bigint,
  place        bigint NOT NULL,
  made_ms      bigint NOT NULL,
  changed_ms   bigint NOT NULL,
  PRIMARY KEY (tenant, conversation, number)
);

CREATE TABLE unforget.pin_file (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  place        bigint NOT NULL,
  path         bytea  NOT NULL,
  pin          bigint NOT NULL,
  digest       bytea  NOT NULL,
  trouble      bigint NOT NULL,  -- 0 for nothing
  read_ms      bigint NOT NULL,
  PRIMARY KEY (tenant, conversation, place)
);

-- Not derived: nothing can make them again.
CREATE TABLE unforget.verdict (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,  -- from 1
  seq          bigint NOT NULL,
  line         bytea,
  why          bytea  NOT NULL,
  instead      bytea,
  author       bytea  NOT NULL,
  made_ms      bigint NOT NULL,
  withdrawn_ms bigint,
  PRIMARY KEY (tenant, conversation, number)
);

CREATE TABLE unforget.recipe (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,
  context      bytea  NOT NULL,
  body         bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, number)
);

CREATE TABLE unforget.recipe_context (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  name         bytea  NOT NULL,
  state        bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, name)
);

-- What may be read for an answer to a question, and what was. Holds neither question nor answer.
CREATE TABLE unforget.answer_grant (
  tenant      int    NOT NULL,
  number      bigint NOT NULL,  -- from 1
  scope       bigint,
  tokens      bigint NOT NULL,
  calls       bigint NOT NULL,
  used_tokens bigint NOT NULL,
  used_calls  bigint NOT NULL,
  made_ms     bigint NOT NULL,
  until_ms    bigint NOT NULL,
  ended_ms    bigint,
  how         bytea  NOT NULL,
  PRIMARY KEY (tenant, number)
);
