-- For operations that are applied only if they are newer: the version of the last claim, and the highest one that has
-- completed. Only the metadata of the table changes, but claims queue behind its lock, so that the wait is short. MySQL
-- has no ADD COLUMN IF NOT EXISTS, and the script can be run again.
SET SESSION lock_wait_timeout = 30;
SET @idempotency_version = IF(
  (SELECT COUNT(*) FROM information_schema.COLUMNS
   WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '${name}' AND COLUMN_NAME IN ('version', 'decided_version')) = 0,
  'ALTER TABLE ${table} ADD COLUMN version BIGINT, ADD COLUMN decided_version BIGINT', 'DO 0');
PREPARE idempotency_version FROM @idempotency_version;
EXECUTE idempotency_version;
DEALLOCATE PREPARE idempotency_version;
