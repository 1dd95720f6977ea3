-- Spans of entries that people put back into prompts. Not derived: nothing can make them again.
CREATE TABLE raised (
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,  -- from 1, ascending with time
  first_seq    INTEGER NOT NULL,
  last_seq     INTEGER NOT NULL,
  author       TEXT    NOT NULL,
  made_ms      INTEGER NOT NULL,
  withdrawn_ms INTEGER,           -- when it was taken back
  seal         INTEGER,
  PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;
