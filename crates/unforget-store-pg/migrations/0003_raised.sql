-- Spans of entries that people put back into prompts. Not derived: nothing can make them again.
CREATE TABLE unforget.raised (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,  -- from 1
  first_seq    bigint NOT NULL,
  last_seq     bigint NOT NULL,
  author       bytea  NOT NULL,
  made_ms      bigint NOT NULL,
  withdrawn_ms bigint,
  PRIMARY KEY (tenant, conversation, number)
);
