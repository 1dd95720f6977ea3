-- What several processes agree on beside the histories. Times are of the server's clock, in ms since 1970.

-- Known to all processes on the database, and to nobody else: seals of forms and plans.
ALTER TABLE unforget.tenant ADD COLUMN secret uuid NOT NULL DEFAULT gen_random_uuid();

-- Work that one process does for all of them.
CREATE TABLE unforget.held (
  tenant   int    NOT NULL,
  work     bytea  NOT NULL,
  holder   bytea  NOT NULL,  -- 16 bytes, of a process
  until_ms bigint NOT NULL,
  PRIMARY KEY (tenant, work)
);

-- Calls under keys of their clients. A call without a body is being carried out by its holder; one with a body was answered.
CREATE TABLE unforget.call (
  tenant   int    NOT NULL,
  key      bytea  NOT NULL,  -- 32 bytes: digest of the caller and its key
  request  bytea  NOT NULL,  -- 32 bytes: digest of the request
  holder   bytea  NOT NULL,
  until_ms bigint NOT NULL,  -- then the row means nothing any more
  head     bytea,
  body     bytea,
  PRIMARY KEY (tenant, key)
);
CREATE INDEX call_until ON unforget.call (tenant, until_ms);
ALTER TABLE unforget.call ALTER COLUMN body SET STORAGE EXTERNAL;
