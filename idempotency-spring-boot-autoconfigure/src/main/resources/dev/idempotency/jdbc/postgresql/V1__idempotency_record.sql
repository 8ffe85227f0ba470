-- One row for each idempotency key of a scope.
CREATE TABLE ${table} (
  id            uuid        NOT NULL,  -- the first 16 bytes of SHA-256(length of scope, scope, key)
  scope         text        NOT NULL,
  key           text        NOT NULL,
  state         "char"      NOT NULL,  -- P in progress, C completed, F failed
  fence         integer     NOT NULL,  -- grows with every claim
  attempt       integer     NOT NULL,  -- starts since the last completion
  token         uuid,                  -- the owner of a leased claim
  fingerprint   bytea,
  lease_until   timestamptz,
  created_at    timestamptz NOT NULL,
  expires_at    timestamptz NOT NULL,  -- set by a claim, never by its completion: see the index
  result        bytea,
  error_type    text,
  error_message text,
  CONSTRAINT ${name}_pk PRIMARY KEY (id),
  CONSTRAINT ${name}_state CHECK (state IN ('P', 'C', 'F'))
);

-- For the cleanup. No column that a completion changes is indexed, so completions stay heap-only updates.
CREATE INDEX ${name}_expires_at ON ${table} (expires_at);
