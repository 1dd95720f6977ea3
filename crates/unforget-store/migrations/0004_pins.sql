-- Rules that people pinned: words that stand in every prompt. A pin that is not active keeps its row.
CREATE TABLE pin (
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,  -- dense, from 1
  text         TEXT    NOT NULL,  -- verbatim
  source       INTEGER,           -- the entry that the words come from
  state        INTEGER NOT NULL,  -- 0 active, 1 retired, 2 superseded
  successor    INTEGER,           -- number of the pin that stands for a superseded one
  place        INTEGER NOT NULL,  -- order in the block
  made_ms      INTEGER NOT NULL,
  changed_ms   INTEGER NOT NULL,
  PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;

-- How a prompt that was sent was composed. The newest ones are kept.
CREATE TABLE recipe (
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,
  context      BLOB    NOT NULL,  -- name of its context: 16 bytes
  body         BLOB    NOT NULL,
  PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;

-- Contexts that recipes refer to; goes with the last of them.
CREATE TABLE recipe_context (
  conversation INTEGER NOT NULL,
  name         BLOB    NOT NULL,
  state        BLOB    NOT NULL,
  PRIMARY KEY (conversation, name)
) STRICT, WITHOUT ROWID;
