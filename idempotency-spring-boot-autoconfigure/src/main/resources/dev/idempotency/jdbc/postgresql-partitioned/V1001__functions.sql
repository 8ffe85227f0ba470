-- Together with V2 in one transaction: the functions of V1000 stop working when the table gets a column. These name the
-- columns, so that the application may add columns of its own. Signatures and types that running instances use stay,
-- and so do the functions with the type of the table: calls that wait for the lock of V2 go on in them.
SET LOCAL lock_timeout = '5s';
SET LOCAL idle_in_transaction_session_timeout = '1min';

-- The row is updated, which a table without a primary key is not allowed in a publication. The application may have
-- helped itself.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = '${table}_period'::regclass AND i.indisprimary) THEN
    ALTER TABLE ${table}_period ADD PRIMARY KEY (period);
  END IF;
END $$;

-- V2 is missing where V1000 was run by hand: the history begins with the latter then.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS completed_at timestamptz;

-- V1000 has made the table without the defaults of the columns that the application had added to the single one. A
-- sequence must not keep the first partition from being dropped. No claim knows a value for a column without a default.
DO $$
DECLARE
  c record;
BEGIN
  FOR c IN
    SELECT a.attname AS name, pg_get_expr(d.adbin, d.adrelid) AS expression
    FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    JOIN pg_attribute p ON p.attrelid = '${table}'::regclass AND p.attname = a.attname
    WHERE a.attrelid = to_regclass('${table}_p0') AND a.attgenerated = '' AND NOT p.atthasdef
  LOOP
    EXECUTE format('ALTER TABLE ${table} ALTER COLUMN %I SET DEFAULT %s', c.name, c.expression);
  END LOOP;
  FOR c IN
    SELECT s.oid::regclass AS sequence, a.attname AS name
    FROM pg_depend o JOIN pg_class s ON o.classid = 'pg_class'::regclass AND s.oid = o.objid AND s.relkind = 'S'
    JOIN pg_attribute a ON a.attrelid = o.refobjid AND a.attnum = o.refobjsubid
    WHERE o.refclassid = 'pg_class'::regclass AND o.refobjid = to_regclass('${table}_p0') AND o.deptype = 'a'
  LOOP
    EXECUTE format('ALTER SEQUENCE %s OWNED BY ${table}.%I', c.sequence, c.name);
  END LOOP;
  FOR c IN
    SELECT a.attname AS name FROM pg_attribute a
    WHERE a.attrelid = '${table}'::regclass AND a.attnum > 0 AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
      AND a.attname NOT IN ('id', 'scope', 'key', 'state', 'fence', 'attempt', 'created_at', 'expires_at', 'period')
  LOOP
    RAISE EXCEPTION 'the column % of ${table} is NOT NULL and has no default', c.name;
  END LOOP;
END $$;

-- Inserts a record that no partition before the filled one has. The unique index of the filled partition decides
-- between claims that know the same period. While the one before is being closed, others may still insert there: its
-- unique index decides too, by a row that is deleted at once. A claim that finds after its insert that the period is
-- over takes it back: claims that know the new period did not see it.
CREATE FUNCTION ${table}_add(p_period integer, p_closing integer, p_id uuid, p_scope text, p_key text, p_state "char",
  p_fence integer, p_attempt integer, p_token uuid, p_fingerprint bytea, p_lease interval, p_retention interval,
  p_error_type text, p_error_message text) RETURNS boolean LANGUAGE plpgsql AS $$
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
    completed_at, error_type, error_message, period)
  VALUES (p_id, p_scope, p_key, p_state, p_fence, p_attempt, p_token, p_fingerprint, n + p_lease, n, n + p_retention,
    CASE WHEN p_state = 'C' THEN n END, p_error_type, p_error_message, p_period) ON CONFLICT DO NOTHING;
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
  p_absent boolean) RETURNS ${table}_answer LANGUAGE plpgsql AS $$
DECLARE
  p record;
  r record;
  a ${table}_answer;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'the partitioned layout needs READ COMMITTED' USING ERRCODE = '25004';
  END IF;
  FOR race IN 1..5 LOOP
    SELECT q.period, q.closing INTO STRICT p FROM ${table}_period q;
    PERFORM pg_advisory_xact_lock_shared(hashoid('${table}'::regclass), p.period);
    -- A statement of its own: its snapshot is later than the period that was read.
    SELECT t.period, t.state, t.fence, t.attempt, t.token, t.fingerprint, t.result, t.lease_until, t.expires_at
    INTO r FROM ${table} t WHERE t.id = p_id;
    IF NOT FOUND THEN
      IF ${table}_add(p_period => p.period, p_closing => p.closing, p_id => p_id, p_scope => p_scope, p_key => p_key,
          p_state => p_state, p_fence => p_fence, p_attempt => p_attempt, p_token => p_token,
          p_fingerprint => p_fingerprint, p_lease => p_lease, p_retention => p_retention, p_error_type => p_error_type,
          p_error_message => p_error_message) THEN
        a.outcome := 'A';
        a.fence := p_fence;
        a.attempt := p_attempt;
        RETURN a;
      END IF;
    ELSIF p_absent THEN
      EXIT;
    ELSIF ${table}_free(r.state, r.lease_until, r.expires_at) OR (r.state = 'P' AND r.token = p_token) IS TRUE THEN
      -- Stays where it is, as does created_at.
      UPDATE ${table} t SET state = p_state, token = p_token, fingerprint = p_fingerprint,
        fence = CASE WHEN (t.state = 'P' AND t.token = p_token) IS TRUE THEN t.fence ELSE t.fence + 1 END,
        attempt = CASE WHEN (t.state = 'P' AND t.token = p_token) IS TRUE THEN t.attempt WHEN t.state = 'C' THEN 1
          ELSE t.attempt + 1 END,
        lease_until = clock_timestamp() + p_lease, expires_at = clock_timestamp() + p_retention,
        completed_at = CASE WHEN p_state = 'C' THEN clock_timestamp() END,
        result = NULL, error_type = p_error_type, error_message = p_error_message
      WHERE t.id = p_id AND t.period = r.period
        AND (${table}_free(t.state, t.lease_until, t.expires_at) OR (t.state = 'P' AND t.token = p_token) IS TRUE)
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
CREATE OR REPLACE FUNCTION ${table}_claim(p_wait text, p_id uuid, p_scope text, p_key text, p_state "char", p_token uuid,
  p_fingerprint bytea, p_lease bigint, p_retention bigint, p_absent boolean) RETURNS ${table}_answer
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  lease interval := p_lease * interval '1 ms';
  a ${table}_answer;
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  a := ${table}_take(p_id => p_id, p_scope => p_scope, p_key => p_key, p_state => p_state, p_fence => 1, p_attempt => 1,
    p_token => p_token, p_fingerprint => p_fingerprint, p_lease => lease,
    p_retention => greatest(p_retention * interval '1 ms', lease), p_error_type => NULL, p_error_message => NULL,
    p_absent => p_absent);
  PERFORM set_config('lock_timeout', previous, true);
  RETURN a;
END $$;

-- Several keys, in the order of their ids: two batches never wait for each other.
CREATE OR REPLACE FUNCTION ${table}_claim_all(p_wait text, p_state "char", p_error_type text, p_error_message text,
  p_ids uuid[], p_scopes text[], p_keys text[], p_tokens uuid[], p_fingerprints bytea[], p_leases bigint[],
  p_retentions bigint[])
RETURNS TABLE (id uuid, outcome text, fence integer, attempt integer, fingerprint bytea, result bytea, left_ms bigint)
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  u record;
  a ${table}_answer;
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  FOR u IN
    SELECT k.id, k.scope, k.key, k.token, k.fingerprint, k.lease * interval '1 ms' AS lease,
      greatest(k.retention, k.lease) * interval '1 ms' AS retention
    FROM unnest(p_ids, p_scopes, p_keys, p_tokens, p_fingerprints, p_leases, p_retentions)
      AS k(id, scope, key, token, fingerprint, lease, retention) ORDER BY k.id
  LOOP
    a := ${table}_take(p_id => u.id, p_scope => u.scope, p_key => u.key, p_state => p_state, p_fence => 1,
      p_attempt => 1, p_token => u.token, p_fingerprint => u.fingerprint, p_lease => u.lease,
      p_retention => u.retention, p_error_type => p_error_type, p_error_message => p_error_message, p_absent => false);
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
CREATE OR REPLACE FUNCTION ${table}_restore(p_wait text, p_id uuid, p_scope text, p_key text, p_fence integer,
  p_attempt integer, p_token uuid, p_fingerprint bytea, p_lease bigint, p_retention bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  previous text := current_setting('lock_timeout');
  n timestamptz := clock_timestamp();
  lease interval := p_lease * interval '1 ms';
  a ${table}_answer;
  owned boolean;
BEGIN
  PERFORM set_config('lock_timeout', p_wait, true);
  a := ${table}_take(p_id => p_id, p_scope => p_scope, p_key => p_key, p_state => 'P', p_fence => p_fence,
    p_attempt => p_attempt, p_token => p_token, p_fingerprint => p_fingerprint, p_lease => lease,
    p_retention => greatest(p_retention * interval '1 ms', lease), p_error_type => NULL, p_error_message => NULL,
    p_absent => true);
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
-- Yields the step, or null. An identity of the table is that of its partitions too.
CREATE OR REPLACE FUNCTION ${table}_rotate(p_interval bigint) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  p record;
  parent record;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'the partitioned layout needs READ COMMITTED' USING ERRCODE = '25004';
  END IF;
  IF NOT pg_try_advisory_xact_lock(hashtext('dev.idempotency.partitions'), hashoid('${table}'::regclass)) THEN
    RETURN NULL;
  END IF;
  PERFORM set_config('lock_timeout', '50ms', true);
  SELECT q.period, q.closing, q.since INTO STRICT p FROM ${table}_period q;
  SELECT n.nspname, c.relname INTO STRICT parent FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = '${table}'::regclass;
  IF NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = '${table}'::regclass
      AND i.inhrelid = to_regclass(format('%I.%I', parent.nspname, parent.relname || '_p' || p.period + 1))) THEN
    EXECUTE format('CREATE TABLE %1$I.%2$I (LIKE ${table} INCLUDING ALL EXCLUDING IDENTITY, PRIMARY KEY (id));'
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

-- Running instances call the new functions from now on: the users who may claim may use these, too.
DO $$
DECLARE
  g record;
BEGIN
  FOR g IN
    SELECT f.oid::regprocedure AS function,
      CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_proc c CROSS JOIN aclexplode(coalesce(c.proacl, acldefault('f', c.proowner))) a
    JOIN pg_proc f ON f.pronamespace = c.pronamespace
      AND f.proname IN (regexp_replace(c.proname, 'claim$', 'add'), regexp_replace(c.proname, 'claim$', 'take'))
    WHERE c.oid = '${table}_claim'::regproc
  LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', g.function, g.grantee);
  END LOOP;
END $$;
