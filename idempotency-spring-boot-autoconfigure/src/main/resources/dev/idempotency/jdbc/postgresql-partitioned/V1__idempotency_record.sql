-- One row for each idempotency key of a scope. Each partition has a unique index on the id; the functions keep ids unique
-- over all of them. They name the columns, so that the application may add columns of its own.
CREATE TABLE ${table} (
  id              uuid        NOT NULL,  -- the first 16 bytes of SHA-256(length of scope, scope, key)
  scope           text        NOT NULL,
  key             text        NOT NULL,
  state           "char"      NOT NULL,  -- P in progress, C completed, F failed
  fence           integer     NOT NULL,  -- grows with every claim
  attempt         integer     NOT NULL,  -- starts since the last completion
  token           uuid,                  -- the owner
  fingerprint     bytea,
  lease_until     timestamptz,
  created_at      timestamptz NOT NULL,
  expires_at      timestamptz NOT NULL,  -- set by a claim, never by its completion: see the index
  completed_at    timestamptz,
  version         bigint,                -- of the last claim
  decided_version bigint,                -- the highest one that has completed
  result          bytea,
  error_type      text,
  error_message   text,
  period          integer     NOT NULL,  -- the partition
  CONSTRAINT ${name}_state CHECK (state IN ('P', 'C', 'F'))
) PARTITION BY LIST (period);

CREATE TABLE ${table}_p1 PARTITION OF ${table} (PRIMARY KEY (id)) FOR VALUES IN (1);
CREATE INDEX ON ${table}_p1 (expires_at);
CREATE TABLE ${table}_p2 PARTITION OF ${table} (PRIMARY KEY (id)) FOR VALUES IN (2);
CREATE INDEX ON ${table}_p2 (expires_at);

-- The partition that is filled. One row.
CREATE TABLE ${table}_period (
  period  integer     NOT NULL PRIMARY KEY,  -- the partition of new records
  closing integer,                           -- the one before it, while open transactions may have put records there
  since   timestamptz NOT NULL
);
INSERT INTO ${table}_period VALUES (1, NULL, clock_timestamp());

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
        OR (r.state = p_state AND r.token = p_token) IS TRUE THEN
      -- Stays where it is, as does created_at.
      UPDATE ${table} t SET state = p_state, token = p_token, fingerprint = p_fingerprint,
        fence = CASE WHEN (t.state = p_state AND t.token = p_token) IS TRUE THEN t.fence ELSE t.fence + 1 END,
        attempt = CASE WHEN (t.state = p_state AND t.token = p_token) IS TRUE THEN t.attempt WHEN t.state = 'C' THEN 1
          ELSE t.attempt + 1 END,
        lease_until = clock_timestamp() + p_lease, expires_at = clock_timestamp() + p_retention,
        completed_at = CASE WHEN p_state = 'C' THEN clock_timestamp() END,
        version = p_version,
        decided_version = CASE WHEN p_state = 'C' THEN coalesce(p_version, t.decided_version) ELSE t.decided_version END,
        result = CASE WHEN p_state <> 'C' AND t.decided_version IS NOT NULL THEN t.result END,
        error_type = p_error_type, error_message = p_error_message
      WHERE t.id = p_id AND t.period = r.period
        AND (${table}_free(t.state, t.lease_until, t.expires_at, t.decided_version, p_version)
          OR (t.state = p_state AND t.token = p_token) IS TRUE)
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

-- One step of many, each in a transaction of its own, so that all sessions know a partition before it is filled.
-- Yields the step, or null. An identity of the table is that of its partitions too.
CREATE FUNCTION ${table}_rotate(p_interval bigint) RETURNS text LANGUAGE plpgsql AS $$
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

-- The last processed offset of each partition, for listeners whose records have no key. One row for each scope,
-- partition and identity of a topic.
CREATE TABLE ${table}_offset (
  id              uuid        NOT NULL,  -- the first 16 bytes of SHA-256 over the scope, the topic, its id and the partition
  scope           text        NOT NULL,
  topic           text        NOT NULL,
  topic_partition integer     NOT NULL,
  topic_id        uuid        NOT NULL,  -- a topic that was created again has another one
  last_offset     bigint      NOT NULL,
  previous_offset bigint,                -- the mark before the last update, which returns it
  token           uuid,                  -- the transaction that raised it last
  updated_at      timestamptz NOT NULL,
  CONSTRAINT ${name}_offset_pk PRIMARY KEY (id)
) WITH (
  -- No updated column is indexed, and each page has room for new versions of its rows: updates stay heap-only.
  fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);
