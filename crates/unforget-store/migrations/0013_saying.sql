-- What people said of conversations, as records that machines exchange. Not derived: nothing can make them again.
CREATE TABLE saying (
  conversation INTEGER NOT NULL,
  number       INTEGER NOT NULL,  -- from 1, in the order of arrival
  digest       BLOB    NOT NULL,  -- of the body
  first_seq    INTEGER,           -- the entries that it is about; NULL for the conversation
  last_seq     INTEGER,
  body         BLOB    NOT NULL,
  seal         INTEGER,
  PRIMARY KEY (conversation, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX saying_digest ON saying (conversation, digest);
