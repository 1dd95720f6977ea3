-- How often names were added to stored entries of the conversation. Who remembers which names are not there compares it.
ALTER TABLE conversation ADD COLUMN names INTEGER NOT NULL DEFAULT 0;
