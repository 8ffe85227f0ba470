-- For operations that are applied only if they are newer: the version of the last claim, and the highest one that has
-- completed.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS version BIGINT;
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS decided_version BIGINT;
