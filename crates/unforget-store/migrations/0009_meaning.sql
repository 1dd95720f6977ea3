-- What calls of models cost, apart by what they were for. Older programs would take segments of meaning for damaged ones,
-- so they must not open this file.
CREATE TABLE spend_of (
  conversation INTEGER NOT NULL,
  kind         INTEGER NOT NULL,  -- 0 summaries, 1 vectors
  hour         INTEGER NOT NULL,  -- since 1970
  calls        INTEGER NOT NULL,
  input        INTEGER NOT NULL,  -- tokens
  output       INTEGER NOT NULL,  -- tokens
  micros       INTEGER NOT NULL,  -- millionths of the operator's currency
  PRIMARY KEY (conversation, kind, hour)
) STRICT, WITHOUT ROWID;
INSERT INTO spend_of SELECT conversation, 0, hour, calls, input, output, micros FROM spend;
DROP TABLE spend;
ALTER TABLE spend_of RENAME TO spend;
