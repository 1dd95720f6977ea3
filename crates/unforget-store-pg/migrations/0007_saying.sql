-- What people said of conversations, as records that machines exchange. Not derived: nothing can make them again.
CREATE TABLE unforget.saying (
  tenant       int    NOT NULL,
  conversation bigint NOT NULL,
  number       bigint NOT NULL,  -- from 1, in the order of arrival
  digest       bytea  NOT NULL,  -- of the body
  first_seq    bigint,           -- the entries that it is about; NULL for the conversation
  last_seq     bigint,
  body         bytea  NOT NULL,
  PRIMARY KEY (tenant, conversation, number),
  UNIQUE (tenant, conversation, digest)
);
