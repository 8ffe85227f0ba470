-- For operations that are applied only if they are newer: the version of the last claim, and the highest one that has
-- completed. Not indexed, so that completions stay heap-only updates. See V2 about the locks.
DO $$
BEGIN
  PERFORM set_config('idle_in_transaction_session_timeout', '1min', true);
  FOR attempt IN 1..60 LOOP
    BEGIN
      PERFORM set_config('lock_timeout', CASE WHEN attempt % 10 = 0 THEN '2s' ELSE '100ms' END, true);
      IF to_regclass('${table}_period') IS NOT NULL THEN
        LOCK TABLE ${table}_period IN ACCESS EXCLUSIVE MODE;
      END IF;
      ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS version bigint, ADD COLUMN IF NOT EXISTS decided_version bigint;
      EXIT;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
      IF attempt = 60 THEN
        RAISE;
      END IF;
      PERFORM pg_sleep(0.4);
    END;
  END LOOP;
END $$;
