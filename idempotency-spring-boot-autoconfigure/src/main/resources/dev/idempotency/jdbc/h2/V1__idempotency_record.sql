-- One row for each idempotency key of a scope.
CREATE TABLE ${table} (
  id              UUID                        NOT NULL,  -- the first 16 bytes of SHA-256(length of scope, scope, key)
  scope           CHARACTER VARYING           NOT NULL,
  "key"           CHARACTER VARYING           NOT NULL,  -- a reserved word
  state           CHARACTER(1)                NOT NULL,  -- P in progress, C completed, F failed
  fence           INTEGER                     NOT NULL,  -- grows with every claim
  attempt         INTEGER                     NOT NULL,  -- starts since the last completion
  token           UUID,                                  -- the owner
  fingerprint     BINARY VARYING,
  lease_until     TIMESTAMP(6) WITH TIME ZONE,
  created_at      TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  expires_at      TIMESTAMP(6) WITH TIME ZONE NOT NULL,  -- set by a claim, never by its completion
  completed_at    TIMESTAMP(6) WITH TIME ZONE,
  version         BIGINT,                                -- of the last claim
  decided_version BIGINT,                                -- the highest one that has completed
  result          BINARY VARYING,
  error_type      CHARACTER VARYING,
  error_message   CHARACTER VARYING,
  CONSTRAINT ${name}_pk PRIMARY KEY (id),
  -- H2 checks a list of constants with the session that made the table, which may be closed.
  CONSTRAINT ${name}_state CHECK (LOCATE(state, 'PCF') > 0)
);

-- For the cleanup.
CREATE INDEX ${name}_expires_at ON ${table} (expires_at);

-- The last processed offset of each partition, for listeners whose records have no key. One row for each scope,
-- partition and identity of a topic.
CREATE TABLE ${table}_offset (
  id              UUID                        NOT NULL,  -- of the scope, the topic, its id and the partition
  scope           CHARACTER VARYING           NOT NULL,
  topic           CHARACTER VARYING           NOT NULL,
  topic_partition INTEGER                     NOT NULL,
  topic_id        UUID                        NOT NULL,  -- a topic that was created again has another one
  last_offset     BIGINT                      NOT NULL,
  previous_offset BIGINT,                                -- the mark before the last update, which returns it
  token           UUID,                                  -- the transaction that raised it last
  updated_at      TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  CONSTRAINT ${name}_offset_pk PRIMARY KEY (id)
);
