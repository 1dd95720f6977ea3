-- Files whose words are pinned. A row stays with the place of its pins in the block, whatever pin has the words by now.
CREATE TABLE pin_file (
  conversation INTEGER NOT NULL,
  place        INTEGER NOT NULL,  -- that of its pins
  path         TEXT    NOT NULL,  -- absolute
  pin          INTEGER NOT NULL,  -- number of the pin that has its words; the file is followed while that one is active
  digest       BLOB    NOT NULL,  -- BLAKE3 of these words: 32 bytes
  trouble      INTEGER NOT NULL,  -- why they may not be those of the file any more; 0 for nothing
  read_ms      INTEGER NOT NULL,  -- when they were read
  PRIMARY KEY (conversation, place)
) STRICT, WITHOUT ROWID;
