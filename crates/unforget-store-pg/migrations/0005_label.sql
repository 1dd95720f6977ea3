-- What people say of conversations: a title of their own, a star, tags. Not derived: nothing can make them again.
CREATE TABLE unforget.label (
  tenant       int     NOT NULL,
  conversation bigint  NOT NULL,
  title        bytea,
  starred      boolean NOT NULL,
  tags         bytea   NOT NULL,  -- ascending, parted by spaces
  changed_ms   bigint  NOT NULL,
  PRIMARY KEY (tenant, conversation)
);
