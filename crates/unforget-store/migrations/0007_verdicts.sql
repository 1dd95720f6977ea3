-- What people and agents said of stored entries: wrong, or superseded. Not derived: nothing can make them again.
CREATE TABLE verdict (
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,  -- from 1, ascending with time
  seq          INTEGER NOT NULL,  -- the entry
  line         TEXT,              -- the words that are meant, verbatim; NULL for the whole entry
  why          TEXT    NOT NULL,
  instead      TEXT,              -- the name of what holds now
  author       TEXT    NOT NULL,
  made_ms      INTEGER NOT NULL,
  withdrawn_ms INTEGER,           -- when it was taken back
  PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;
