-- Senders queue behind the locks: better to fail, and be repeated, than to wait for an open transaction.
SET LOCAL lock_timeout = '5s';
-- And if this host is gone or frozen between two statements, its locks must not stay.
SET LOCAL idle_in_transaction_session_timeout = '1min';

-- The message with the same topic and key that this one waits for: both are set aside. And no relay looks into other
-- lanes.
ALTER TABLE ${table} ADD COLUMN blocked_by uuid,
  ADD CONSTRAINT ${name}_lane_range CHECK (lane BETWEEN 0 AND 63) NOT VALID;
-- Dead letters, and what waits for each of them. The index on set_aside_at stays for relays of the version before.
CREATE INDEX ${name}_dead ON ${table} (set_aside_at) WHERE set_aside_at IS NOT NULL AND blocked_by IS NULL;
CREATE INDEX ${name}_blocked ON ${table} (blocked_by, position) WHERE set_aside_at IS NOT NULL AND blocked_by IS NOT NULL;

-- A vacuum that leaves the indexes alone because few pages have dead rows would leave rounds slow.
ALTER TABLE ${table} SET (vacuum_index_cleanup = on);

-- Refused messages and dead letters by their ordering key, which may be too long for an index. A server in FIPS mode
-- has no md5().
CREATE INDEX IF NOT EXISTS ${name}_blocking ON ${table} (lane, topic, sha256(message_key), position)
  WHERE published_at IS NULL AND next_attempt_at IS NOT NULL;
-- Messages that are retried, which may be before the position from which on a relay looks.
CREATE INDEX IF NOT EXISTS ${name}_retried ON ${table} (lane, position)
  WHERE published_at IS NULL AND set_aside_at IS NULL AND next_attempt_at IS NOT NULL;
-- The index with md5(). Relays of the version before only become slower without it.
DO $$
DECLARE old regclass;
BEGIN
  FOR old IN SELECT c.oid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = '${table}'::regclass AND c.relname = '${name}_refused' LOOP
    EXECUTE 'DROP INDEX ' || old;
  END LOOP;
END $$;
