-- Seals of derived rows and of verdicts: 64 bits of BLAKE3 over all other columns, and over those of the row that they were made from.
-- Rows of before are sealed by this step; from here on, a row without its seal is broken.
ALTER TABLE summary ADD COLUMN seal INTEGER;
ALTER TABLE rewrite ADD COLUMN seal INTEGER;
ALTER TABLE context ADD COLUMN seal INTEGER;
ALTER TABLE recipe ADD COLUMN seal INTEGER;
ALTER TABLE recipe_context ADD COLUMN seal INTEGER;
ALTER TABLE chunk_filter ADD COLUMN seal INTEGER;
ALTER TABLE blob_filter ADD COLUMN seal INTEGER;
ALTER TABLE segment ADD COLUMN seal INTEGER;
ALTER TABLE segment_block ADD COLUMN seal INTEGER;
ALTER TABLE name ADD COLUMN seal INTEGER;
ALTER TABLE job ADD COLUMN seal INTEGER;
ALTER TABLE pin ADD COLUMN seal INTEGER;
ALTER TABLE pin_file ADD COLUMN seal INTEGER;
ALTER TABLE decision ADD COLUMN seal INTEGER;
ALTER TABLE verdict ADD COLUMN seal INTEGER;

-- Number of blocks of a segment, so that a lost one is noticed.
ALTER TABLE segment ADD COLUMN blocks INTEGER;
UPDATE segment SET blocks = (SELECT count(*) FROM segment_block WHERE segment_block.segment = segment.id);
