-- What may be read for an answer to a question, and what was. The newest ones are kept. Holds neither question nor answer.
CREATE TABLE answer_grant (
  number      INTEGER PRIMARY KEY,  -- from 1
  scope       INTEGER,              -- the only conversation; null: all
  tokens      INTEGER NOT NULL,     -- that may be read
  calls       INTEGER NOT NULL,     -- of a model, that may be made
  used_tokens INTEGER NOT NULL,
  used_calls  INTEGER NOT NULL,
  made_ms     INTEGER NOT NULL,
  until_ms    INTEGER NOT NULL,     -- then it is over, whoever holds it
  ended_ms    INTEGER,              -- revoked since then
  how         TEXT NOT NULL         -- how it ended; empty before
) STRICT;
