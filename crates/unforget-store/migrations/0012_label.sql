-- What people say of conversations: a title of their own, a star, tags. Not derived: nothing can make them again.
CREATE TABLE label (
  conversation INTEGER NOT NULL PRIMARY KEY,
  title        TEXT,              -- NULL for the title that the conversation has by itself
  starred      INTEGER NOT NULL,
  tags         TEXT    NOT NULL,  -- ascending, parted by spaces
  changed_ms   INTEGER NOT NULL,
  seal         INTEGER
) STRICT;
