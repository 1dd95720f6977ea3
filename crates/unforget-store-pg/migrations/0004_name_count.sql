-- How often names were added to stored entries of the conversation. Who remembers which names are not there compares it.
ALTER TABLE unforget.conversation ADD COLUMN names bigint NOT NULL DEFAULT 0;
