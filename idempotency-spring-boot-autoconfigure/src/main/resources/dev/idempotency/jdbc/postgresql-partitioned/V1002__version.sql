-- For operations that are applied only if they are newer. Together with V4 in one transaction. Running instances go on
-- with the functions of V1001, whose names are the same and whose arguments are others.
SET LOCAL lock_timeout = '5s';
SET LOCAL idle_in_transaction_session_timeout = '1min';

-- V4 is missing where V1000 was run by hand: the history begins with the latter then.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS version bigint, ADD COLUMN IF NOT EXISTS decided_version bigint;

-- The version that completed last keeps lower ones out for its retention, whatever the state is, and lets a higher one
-- in. Without a version, the first condition is null.
CREATE FUNCTION ${table}_free(p_state "char", p_lease_until timestamptz, p_expires_at timestamptz,
  p_decided_version bigint, p_version bigint) RETURNS boolean
LANGUAGE sql VOLATILE AS $$
  SELECT CASE WHEN p_decided_version >= p_version THEN p_state = 'C' AND p_expires_at <= clock_timestamp()
    ELSE p_state = 'F' OR (p_state = 'P' AND p_lease_until <= clock_timestamp())
      OR (p_state = 'C' AND (p_expires_at <= clock_timestamp() OR p_version IS NOT NULL)) END
$$;

-- Inserts a record that no partition before the filled one has. The unique index of the filled partition decides
-- between claims that know the same period. While the one before is being closed, others may still insert there: its
-- unique index decides too, by a row that is deleted at once. A claim that finds after its insert that the period is
-- over takes it back: claims that know the new period did not see it.
CREATE FUNCTION ${table}_add(p_period integer, p_closing integer, p_id uuid, p_scope text, p_key text, p_state "char",
  p_fence integer, p_attempt integer, p_token uuid, p_fingerprint bytea, p_lease interval, p_retention interval,
  p_error_type text, p_error_message text, p_version bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  n timestamptz := clock_timestamp();
BEGIN
  IF p_closing IS NOT NULL THEN
    INSERT INTO ${table} (id, scope, key, state, fence, attempt, created_at, expires_at, period)
    VALUES (p_id, p_scope, p_key, p_state, p_fence, p_attempt, n, n, p_closing) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RETURN false;
    END IF;
    DELETE FROM ${table} t WHERE t.id = p_id AND t.period = p_closing;
    n := clock_timestamp();
  END IF;
  INSERT INTO ${table} (id, scope, key, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at,
    completed_at, error_type, error_message, version, decided_version, period)
  VALUES (p_id, p_scope, p_key, p_state, p_fence, p_attempt, p_token, p_fingerprint, n + p_lease, n, n + p_retention,
    CASE WHEN p_state = 'C' THEN n END, p_error_type, p_error_message, p_version,
    CASE WHEN p_state = 'C' THEN p_version END, p_period) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF p_period = (SELECT q.period FROM ${table}_period q) THEN
    RETURN true;
  END IF;
  DELETE FROM ${table} t WHERE t.id = p_id AND t.period = p_period;
  RETURN false;
END $$;

-- Inserts, takes over or answers. The shared lock tells the cleanup that this partition is being filled; no claim waits
-- for it.
CREATE FUNCTION ${table}_take(p_id uuid, p_scope text, p_key text, p_state "char", p_fence integer, p_attempt integer,
  p_token uuid, p_fingerprint bytea, p_lease interval, p_retention interval, p_error_type text, p_error_message text,
  p_version bigint, p_absent boolean,
  OUT outcome text, OUT fence integer, OUT attempt integer, OUT fingerprint bytea,
  OUT result bytea, OUT left_ms bigint, OUT decided_version bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  p record;
  r record;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'the partitioned layout needs READ COMMITTED' USING ERRCODE = '25004';
  END IF;
  FOR race IN 1..5 LOOP
    SELECT q.period, q.closing INTO STRICT p FROM ${table}_period q;
    PERFORM pg_advisory_xact_lock_shared(hashoid('${table}'::regclass), p.period);
    -- A statement of its own: its snapshot is later than the period that was read.
    SELECT t.period, t.state, t.fence, t.attempt, t.token, t.fingerprint, t.result, t.lease_until, t.expires_at,
      t.decided_version
    INTO r FROM ${table} t WHERE t.id = p_id;
    IF NOT FOUND THEN
      IF ${table}_add(p_period => p.period, p_closing => p.closing, p_id => p_id, p_scope => p_scope, p_key => p_key,
          p_state => p_state, p_fence => p_fence, p_attempt => p_attempt, p_token => p_token,
          p_fingerprint => p_fingerprint, p_lease => p_lease, p_retention => p_retention, p_error_type => p_error_type,
          p_error_message => p_error_message, p_version => p_version) THEN
        outcome := 'A';
        fence := p_fence;
        attempt := p_attempt;
        RETURN;
      END IF;
    ELSIF p_absent THEN
      EXIT;
    ELSIF ${table}_free(r.state, r.lease_until, r.expires_at, r.decided_version, p_version)
        OR (r.state = 'P' AND r.token = p_token) IS TRUE THEN
      -- Stays where it is, as does created_at.
      UPDATE ${table} t SET state = p_state, token = p_token, fingerprint = p_fingerprint,
        fence = CASE WHEN (t.state = 'P' AND t.token = p_token) IS TRUE THEN t.fence ELSE t.fence + 1 END,
        attempt = CASE WHEN (t.state = 'P' AND t.token = p_token) IS TRUE THEN t.attempt WHEN t.state = 'C' THEN 1
          ELSE t.attempt + 1 END,
        lease_until = clock_timestamp() + p_lease, expires_at = clock_timestamp() + p_retention,
        completed_at = CASE WHEN p_state = 'C' THEN clock_timestamp() END,
        version = p_version,
        decided_version = CASE WHEN p_state = 'C' THEN coalesce(p_version, t.decided_version) ELSE t.decided_version END,
        result = CASE WHEN p_state <> 'C' AND t.decided_version IS NOT NULL THEN t.result END,
        error_type = p_error_type, error_message = p_error_message
      WHERE t.id = p_id AND t.period = r.period
        AND (${table}_free(t.state, t.lease_until, t.expires_at, t.decided_version, p_version)
          OR (t.state = 'P' AND t.token = p_token) IS TRUE)
      RETURNING 'A', t.fence, t.attempt INTO outcome, fence, attempt;
      IF FOUND THEN
        RETURN;
      END IF;
    ELSE
      outcome := r.state;
      fence := r.fence;
      attempt := r.attempt;
      fingerprint := r.fingerprint;
      result := r.result;
      left_ms := ceil(extract(epoch FROM r.lease_until - clock_timestamp()) * 1000);
      decided_version := r.decided_version;
      RETURN;
    END IF;
  END LOOP;
  outcome := 'R';
END $$;

-- One key. p_absent: answers R for every record that exists. An error puts lock_timeout back by the rollback.
CREATE FUNCTION ${table}_claim(p_wait text, p_id uuid, p_scope text, p_key text, p_state "char", p_token uuid,
  p_fingerprint bytea, p_lease bigint, p_retention bigint, p_version bigint, p_absent boolean,
  OUT outcome text, OUT fence integer, OUT attempt integer, OUT fingerprint bytea,
  OUT result bytea, OUT left_ms bigint, OUT decided_version bigint)
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  lease interval := p_lease * interval '1 ms';
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  SELECT t.* INTO outcome, fence, attempt, fingerprint, result, left_ms, decided_version
  FROM ${table}_take(p_id => p_id, p_scope => p_scope, p_key => p_key, p_state => p_state, p_fence => 1, p_attempt => 1,
    p_token => p_token, p_fingerprint => p_fingerprint, p_lease => lease,
    p_retention => greatest(p_retention * interval '1 ms', lease), p_error_type => NULL, p_error_message => NULL,
    p_version => p_version, p_absent => p_absent) t;
  PERFORM set_config('lock_timeout', previous, true);
END $$;

-- Several keys, in the order of their ids: two batches never wait for each other.
CREATE FUNCTION ${table}_claim_all(p_wait text, p_state "char", p_error_type text, p_error_message text,
  p_ids uuid[], p_scopes text[], p_keys text[], p_tokens uuid[], p_fingerprints bytea[], p_leases bigint[],
  p_retentions bigint[], p_versions bigint[])
RETURNS TABLE (id uuid, outcome text, fence integer, attempt integer, fingerprint bytea, result bytea, left_ms bigint,
  decided_version bigint)
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  u record;
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  FOR u IN
    SELECT k.id, k.scope, k.key, k.token, k.fingerprint, k.lease * interval '1 ms' AS lease,
      greatest(k.retention, k.lease) * interval '1 ms' AS retention, k.version
    FROM unnest(p_ids, p_scopes, p_keys, p_tokens, p_fingerprints, p_leases, p_retentions, p_versions)
      AS k(id, scope, key, token, fingerprint, lease, retention, version) ORDER BY k.id
  LOOP
    SELECT t.* INTO outcome, fence, attempt, fingerprint, result, left_ms, decided_version
    FROM ${table}_take(p_id => u.id, p_scope => u.scope, p_key => u.key, p_state => p_state, p_fence => 1,
      p_attempt => 1, p_token => u.token, p_fingerprint => u.fingerprint, p_lease => u.lease,
      p_retention => u.retention, p_error_type => p_error_type, p_error_message => p_error_message,
      p_version => u.version, p_absent => false) t;
    IF outcome <> 'R' THEN
      id := u.id;
      RETURN NEXT;
    END IF;
  END LOOP;
  PERFORM set_config('lock_timeout', previous, true);
END $$;

-- Writes a claim again if there is no record of the key. One that is still the caller's gets a new lease.
CREATE FUNCTION ${table}_restore(p_wait text, p_id uuid, p_scope text, p_key text, p_fence integer,
  p_attempt integer, p_token uuid, p_fingerprint bytea, p_lease bigint, p_retention bigint, p_version bigint)
RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  n timestamptz := clock_timestamp();
  lease interval := p_lease * interval '1 ms';
  owned boolean;
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  SELECT t.outcome = 'A' INTO owned
  FROM ${table}_take(p_id => p_id, p_scope => p_scope, p_key => p_key, p_state => 'P', p_fence => p_fence,
    p_attempt => p_attempt, p_token => p_token, p_fingerprint => p_fingerprint, p_lease => lease,
    p_retention => greatest(p_retention * interval '1 ms', lease), p_error_type => NULL, p_error_message => NULL,
    p_version => p_version, p_absent => true) t;
  IF NOT owned THEN
    UPDATE ${table} t SET lease_until = n + lease, expires_at = greatest(t.expires_at, n + lease)
    WHERE t.id = p_id AND t.token = p_token AND t.state = 'P';
    owned := FOUND;
  END IF;
  PERFORM set_config('lock_timeout', previous, true);
  RETURN owned;
END $$;

-- The users who may claim may use the new functions, too.
DO $$
DECLARE
  g record;
BEGIN
  FOR g IN
    SELECT f.oid::regprocedure AS function,
      CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_proc c CROSS JOIN aclexplode(coalesce(c.proacl, acldefault('f', c.proowner))) a
    CROSS JOIN (VALUES ('free', 5), ('add', 15), ('take', 14), ('claim', 11), ('claim_all', 12), ('restore', 11))
      AS n(name, arguments)
    JOIN pg_proc f ON f.pronamespace = c.pronamespace AND f.proname = regexp_replace(c.proname, 'claim$', n.name)
      AND f.pronargs = n.arguments
    WHERE c.oid = '${table}_claim(text, uuid, text, text, "char", uuid, bytea, bigint, bigint, boolean)'::regprocedure
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', g.function, g.grantee);
  END LOOP;
END $$;
