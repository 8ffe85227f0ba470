-- Claims of running instances queue behind the lock: better to fail, and be repeated, than to wait for an open transaction.
SET LOCAL lock_timeout = '5s';
-- And if this host is gone or frozen between two statements, its locks must not stay.
SET LOCAL idle_in_transaction_session_timeout = '1min';

-- The single table becomes the first of several partitions. Each has a unique index on the id; the functions keep ids
-- unique over all of them.
ALTER TABLE ${table} RENAME TO ${name}_p0;
ALTER TABLE ${table}_p0 ADD COLUMN period integer NOT NULL DEFAULT 0;
ALTER TABLE ${table}_p0 ALTER COLUMN period DROP DEFAULT;
-- From now on nobody is alive whose expires_at is over: the index tells whether a partition may be dropped.
UPDATE ${table}_p0 SET expires_at = lease_until WHERE state = 'P' AND lease_until > expires_at;

CREATE TABLE ${table} (LIKE ${table}_p0 INCLUDING CONSTRAINTS) PARTITION BY LIST (period);
ALTER TABLE ${table} ATTACH PARTITION ${table}_p0 FOR VALUES IN (0);
CREATE TABLE ${table}_p1 PARTITION OF ${table} (PRIMARY KEY (id)) FOR VALUES IN (1);
CREATE INDEX ON ${table}_p1 (expires_at);
CREATE TABLE ${table}_p2 PARTITION OF ${table} (PRIMARY KEY (id)) FOR VALUES IN (2);
CREATE INDEX ON ${table}_p2 (expires_at);

-- Which partition is filled. One row.
CREATE TABLE ${table}_period (
  period  integer     NOT NULL,  -- the partition that new records go to
  closing integer,               -- the one before it, while open transactions may have put records there
  since   timestamptz NOT NULL
);
INSERT INTO ${table}_period VALUES (1, NULL, clock_timestamp());

-- A for acquired, R for "another transaction came between", or the state of a record that is not free.
CREATE TYPE ${table}_answer AS (
  outcome text, fence integer, attempt integer, fingerprint bytea, result bytea, left_ms bigint
);

CREATE FUNCTION ${table}_free(p_state "char", p_lease_until timestamptz, p_expires_at timestamptz) RETURNS boolean
LANGUAGE sql VOLATILE AS $$
  SELECT p_state = 'F' OR (p_state = 'P' AND p_lease_until <= clock_timestamp())
    OR (p_state = 'C' AND p_expires_at <= clock_timestamp())
$$;

-- Inserts a record that no partition before the filled one has. The unique index of the filled partition decides
-- between those who know the same period. While the one before is being closed, others may still insert there: its
-- unique index decides too, by a row that is deleted at once. Whoever finds after its insert that the period is over
-- takes it back: those who know the new one did not see it.
CREATE FUNCTION ${table}_add(p ${table}_period, p_new ${table}) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF p.closing IS NOT NULL THEN
    p_new.period := p.closing;
    INSERT INTO ${table} VALUES (p_new.*) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    DELETE FROM ${table} t WHERE t.id = p_new.id AND t.period = p_new.period;
  END IF;
  p_new.period := p.period;
  INSERT INTO ${table} VALUES (p_new.*) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF p.period = (SELECT q.period FROM ${table}_period q) THEN
    RETURN true;
  END IF;
  DELETE FROM ${table} t WHERE t.id = p_new.id AND t.period = p_new.period;
  RETURN false;
END $$;

-- Inserts, takes over or answers. The shared lock tells the cleanup that somebody fills this partition; it does not
-- make anybody wait.
CREATE FUNCTION ${table}_take(p_new ${table}, p_absent boolean) RETURNS ${table}_answer LANGUAGE plpgsql AS $$
DECLARE
  p ${table}_period;
  r ${table};
  a ${table}_answer;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'the partitioned layout needs READ COMMITTED' USING ERRCODE = '25004';
  END IF;
  FOR race IN 1..5 LOOP
    SELECT * INTO STRICT p FROM ${table}_period;
    PERFORM pg_advisory_xact_lock_shared(hashoid('${table}'::regclass), p.period);
    -- A statement of its own: its snapshot is later than the period that was read.
    SELECT * INTO r FROM ${table} t WHERE t.id = p_new.id;
    IF NOT FOUND THEN
      IF ${table}_add(p, p_new) THEN
        a.outcome := 'A';
        a.fence := p_new.fence;
        a.attempt := p_new.attempt;
        RETURN a;
      END IF;
    ELSIF p_absent THEN
      EXIT;
    ELSIF ${table}_free(r.state, r.lease_until, r.expires_at) OR (r.state = 'P' AND r.token = p_new.token) IS TRUE THEN
      -- Stays where it is, as does created_at.
      UPDATE ${table} t SET state = p_new.state, token = p_new.token, fingerprint = p_new.fingerprint,
        fence = CASE WHEN (t.state = 'P' AND t.token = p_new.token) IS TRUE THEN t.fence ELSE t.fence + 1 END,
        attempt = CASE WHEN (t.state = 'P' AND t.token = p_new.token) IS TRUE THEN t.attempt WHEN t.state = 'C' THEN 1
          ELSE t.attempt + 1 END,
        lease_until = clock_timestamp() + (p_new.lease_until - p_new.created_at),
        expires_at = clock_timestamp() + (p_new.expires_at - p_new.created_at),
        result = NULL, error_type = p_new.error_type, error_message = p_new.error_message
      WHERE t.id = p_new.id AND t.period = r.period
        AND (${table}_free(t.state, t.lease_until, t.expires_at) OR (t.state = 'P' AND t.token = p_new.token) IS TRUE)
      RETURNING 'A', t.fence, t.attempt INTO a.outcome, a.fence, a.attempt;
      IF FOUND THEN
        RETURN a;
      END IF;
    ELSE
      a.outcome := r.state;
      a.fence := r.fence;
      a.attempt := r.attempt;
      a.fingerprint := r.fingerprint;
      a.result := r.result;
      a.left_ms := ceil(extract(epoch FROM r.lease_until - clock_timestamp()) * 1000);
      RETURN a;
    END IF;
  END LOOP;
  a.outcome := 'R';
  RETURN a;
END $$;

-- One key. p_absent: answers R for every record that exists. An error puts lock_timeout back by the rollback.
CREATE FUNCTION ${table}_claim(p_wait text, p_id uuid, p_scope text, p_key text, p_state "char", p_token uuid,
  p_fingerprint bytea, p_lease bigint, p_retention bigint, p_absent boolean) RETURNS ${table}_answer
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  n timestamptz := clock_timestamp();
  lease interval := p_lease * interval '1 ms';
  a ${table}_answer;
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  a := ${table}_take(ROW(p_id, p_scope, p_key, p_state, 1, 1, p_token, p_fingerprint, n + lease, n,
    n + greatest(p_retention * interval '1 ms', lease), NULL, NULL, NULL, NULL)::${table}, p_absent);
  PERFORM set_config('lock_timeout', previous, true);
  RETURN a;
END $$;

-- Several keys, in the order of their ids: two batches never wait for each other.
CREATE FUNCTION ${table}_claim_all(p_wait text, p_state "char", p_error_type text, p_error_message text, p_ids uuid[],
  p_scopes text[], p_keys text[], p_tokens uuid[], p_fingerprints bytea[], p_leases bigint[], p_retentions bigint[])
RETURNS TABLE (id uuid, outcome text, fence integer, attempt integer, fingerprint bytea, result bytea, left_ms bigint)
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  n timestamptz := clock_timestamp();
  u record;
  a ${table}_answer;
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  FOR u IN
    SELECT k.id, k.scope, k.key, k.token, k.fingerprint, k.lease * interval '1 ms' AS lease,
      k.retention * interval '1 ms' AS retention
    FROM unnest(p_ids, p_scopes, p_keys, p_tokens, p_fingerprints, p_leases, p_retentions)
      AS k(id, scope, key, token, fingerprint, lease, retention) ORDER BY k.id
  LOOP
    a := ${table}_take(ROW(u.id, u.scope, u.key, p_state, 1, 1, u.token, u.fingerprint, n + u.lease, n,
      n + greatest(u.retention, u.lease), NULL, p_error_type, p_error_message, NULL)::${table}, false);
    IF a.outcome <> 'R' THEN
      id := u.id;
      outcome := a.outcome;
      fence := a.fence;
      attempt := a.attempt;
      fingerprint := a.fingerprint;
      result := a.result;
      left_ms := a.left_ms;
      RETURN NEXT;
    END IF;
  END LOOP;
  PERFORM set_config('lock_timeout', previous, true);
END $$;

-- Writes a claim again if there is no record of the key. One that is still the caller's gets a new lease.
CREATE FUNCTION ${table}_restore(p_wait text, p_id uuid, p_scope text, p_key text, p_fence integer, p_attempt integer,
  p_token uuid, p_fingerprint bytea, p_lease bigint, p_retention bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  n timestamptz := clock_timestamp();
  lease interval := p_lease * interval '1 ms';
  a ${table}_answer;
  owned boolean;
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  a := ${table}_take(ROW(p_id, p_scope, p_key, 'P', p_fence, p_attempt, p_token, p_fingerprint, n + lease, n,
    n + greatest(p_retention * interval '1 ms', lease), NULL, NULL, NULL, NULL)::${table}, true);
  owned := a.outcome = 'A';
  IF NOT owned THEN
    UPDATE ${table} t SET lease_until = n + lease, expires_at = greatest(t.expires_at, n + lease)
    WHERE t.id = p_id AND t.token = p_token AND t.state = 'P';
    owned := FOUND;
  END IF;
  PERFORM set_config('lock_timeout', previous, true);
  RETURN owned;
END $$;

-- One step of many, each in a transaction of its own, so that all sessions know a partition before it is filled.
-- Yields what was done, or null.
CREATE FUNCTION ${table}_rotate(p_interval bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  p ${table}_period;
  parent record;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'the partitioned layout needs READ COMMITTED' USING ERRCODE = '25004';
  END IF;
  IF NOT pg_try_advisory_xact_lock(hashtext('dev.idempotency.partitions'), hashoid('${table}'::regclass)) THEN
    RETURN NULL;
  END IF;
  PERFORM set_config('lock_timeout', '50ms', true);
  SELECT * INTO STRICT p FROM ${table}_period;
  SELECT n.nspname, c.relname INTO STRICT parent FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = '${table}'::regclass;
  IF NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = '${table}'::regclass
      AND i.inhrelid = to_regclass(format('%I.%I', parent.nspname, parent.relname || '_p' || p.period + 1))) THEN
    EXECUTE format('CREATE TABLE %1$I.%2$I (LIKE ${table} INCLUDING ALL, PRIMARY KEY (id));'
      'CREATE INDEX ON %1$I.%2$I (expires_at);'
      'ALTER TABLE ${table} ATTACH PARTITION %1$I.%2$I FOR VALUES IN (%3$s)',
      parent.nspname, parent.relname || '_p' || p.period + 1, p.period + 1);
    RETURN 'created';
  END IF;
  IF p.closing IS NOT NULL THEN
    IF NOT pg_try_advisory_xact_lock(hashoid('${table}'::regclass), p.closing) THEN
      RETURN NULL;
    END IF;
    UPDATE ${table}_period SET closing = NULL;
    RETURN 'closed';
  END IF;
  IF clock_timestamp() < p.since + p_interval * interval '1 ms' THEN
    RETURN NULL;
  END IF;
  UPDATE ${table}_period SET period = p.period + 1, closing = p.period, since = clock_timestamp();
  RETURN 'opened';
END $$;

-- Drops the first partition that nothing is alive in. Whoever is alive is looked for again under the lock: a claim may
-- have taken a record over. Yields the name, or null.
CREATE FUNCTION ${table}_drop_dead() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  alive text := 'SELECT expires_at > clock_timestamp() FROM %s ORDER BY expires_at DESC LIMIT 1';
  found_alive boolean;
  part record;
BEGIN
  -- With another isolation the second look would be as old as the first.
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'the partitioned layout needs READ COMMITTED' USING ERRCODE = '25004';
  END IF;
  IF NOT pg_try_advisory_xact_lock(hashtext('dev.idempotency.partitions'), hashoid('${table}'::regclass)) THEN
    RETURN NULL;
  END IF;
  -- Claims queue behind a lock that has to be waited for.
  PERFORM set_config('lock_timeout', '50ms', true);
  FOR part IN
    SELECT k.name, k.period FROM (
      SELECT i.inhrelid::regclass::text AS name,
        substring(pg_get_expr(c.relpartbound, c.oid) FROM '\d+')::integer AS period
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = '${table}'::regclass) k
    JOIN ${table}_period p ON k.period < coalesce(p.closing, p.period) ORDER BY k.period
  LOOP
    EXECUTE format(alive, part.name) INTO found_alive;
    IF found_alive IS NOT TRUE THEN
      LOCK TABLE ONLY ${table} IN ACCESS EXCLUSIVE MODE;
      EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', part.name);
      EXECUTE format(alive, part.name) INTO found_alive;
      IF found_alive IS NOT TRUE THEN
        EXECUTE format('DROP TABLE %s', part.name);
        RETURN part.name;
      END IF;
      RETURN NULL;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;
