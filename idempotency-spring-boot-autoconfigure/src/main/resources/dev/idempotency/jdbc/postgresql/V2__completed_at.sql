-- When the operation was completed, unless an instance of an older version has recorded that. Not indexed, so that
-- completions stay heap-only updates. Only the catalog changes, but under the lock of the whole table, and claims queue
-- behind a lock that has to be waited for. So it is tried again and again, with a pause for the claims. Each tenth
-- attempt is long enough for the server to cancel an autovacuum that is in the way.
DO $$
BEGIN
  -- If this host is gone or frozen before the commit, its lock must not stay.
  PERFORM set_config('idle_in_transaction_session_timeout', '1min', true);
  FOR attempt IN 1..60 LOOP
    BEGIN
      PERFORM set_config('lock_timeout', CASE WHEN attempt % 10 = 0 THEN '2s' ELSE '100ms' END, true);
      -- A claim in a partitioned table locks it first.
      IF to_regclass('${table}_period') IS NOT NULL THEN
        LOCK TABLE ${table}_period IN ACCESS EXCLUSIVE MODE;
      END IF;
      ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS completed_at timestamptz;
      EXIT;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      IF attempt = 60 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.4);
    END;
  END LOOP;
END $$;
