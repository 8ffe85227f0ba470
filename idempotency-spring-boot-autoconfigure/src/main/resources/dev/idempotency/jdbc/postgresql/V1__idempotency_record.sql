-- One row for each idempotency key of a scope.
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
  CONSTRAINT ${name}_pk PRIMARY KEY (id),
  CONSTRAINT ${name}_state CHECK (state IN ('P', 'C', 'F'))
);

-- For the cleanup. No column that a completion changes is indexed, so completions stay heap-only updates.
CREATE INDEX ${name}_expires_at ON ${table} (expires_at);

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
