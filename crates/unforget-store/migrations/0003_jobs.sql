-- Summaries that a model wrote, beside those that need none: a context says which of both it shows. Columns as in
-- `summary`. Never changed.
CREATE TABLE rewrite (
  id            INTEGER PRIMARY KEY,
  conversation  INTEGER NOT NULL,
  thread        INTEGER NOT NULL,
  grain         INTEGER NOT NULL,
  level         INTEGER NOT NULL,
  end           BLOB    NOT NULL,
  first_seq     INTEGER NOT NULL,
  last_seq      INTEGER NOT NULL,
  count         INTEGER NOT NULL,
  sources       BLOB    NOT NULL,
  writer        TEXT    NOT NULL,
  body          ANY     NOT NULL,
  tokens_source INTEGER NOT NULL,
  tokens_body   INTEGER NOT NULL,
  time_ms       INTEGER NOT NULL,
  UNIQUE (conversation, end, level, grain, thread)
) STRICT;

-- Summaries that a model should write. A row stays when it is done, so that nothing is asked for twice.
CREATE TABLE job (
  conversation INTEGER NOT NULL,
  thread       INTEGER NOT NULL,
  grain        INTEGER NOT NULL,
  level        INTEGER NOT NULL,
  end          BLOB    NOT NULL,
  first_seq    INTEGER NOT NULL,
  last_seq     INTEGER NOT NULL,
  state        INTEGER NOT NULL,  -- 0 waiting, 1 leased, 2 done, 3 given up
  due_ms       INTEGER NOT NULL,  -- waiting: not before; leased: the lease ends; else when that was
  attempts     INTEGER NOT NULL,  -- times taken; names the lease
  why          TEXT    NOT NULL,  -- how the last attempt ended
  PRIMARY KEY (conversation, end, level, grain, thread)
) STRICT, WITHOUT ROWID;

-- What calls of models cost, by hours since 1970.
CREATE TABLE spend (
  conversation INTEGER NOT NULL,
  hour         INTEGER NOT NULL,
  calls        INTEGER NOT NULL,
  input        INTEGER NOT NULL,  -- tokens
  output       INTEGER NOT NULL,  -- tokens
  micros       INTEGER NOT NULL,  -- millionths of the operator's currency
  PRIMARY KEY (conversation, hour)
) STRICT, WITHOUT ROWID;

-- Whether an account may be called, in the text form of `unforget-llm`. Holds no secret.
CREATE TABLE breaker (
  provider   TEXT NOT NULL,
  credential TEXT NOT NULL,  -- the name of its place, with a fingerprint
  state      TEXT NOT NULL,
  PRIMARY KEY (provider, credential)
) STRICT, WITHOUT ROWID;

-- What was decided about a prompt or a summary, and why; the newest ones of each conversation.
CREATE TABLE decision (
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,  -- from 1
  seq          INTEGER NOT NULL,  -- newest entry
  time_ms      INTEGER NOT NULL,
  looked       TEXT    NOT NULL,
  decided      TEXT    NOT NULL,
  why          TEXT    NOT NULL,
  PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;
