-- How often entries of the conversation were purged. Rows that were made from what was read before a purge compare it.
ALTER TABLE unforget.conversation ADD COLUMN purged bigint NOT NULL DEFAULT 0;
