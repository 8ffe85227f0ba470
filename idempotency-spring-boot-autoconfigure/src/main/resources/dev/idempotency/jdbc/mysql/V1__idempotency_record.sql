-- One row for each idempotency key of a scope, for MariaDB and MySQL. All times are UTC. ${collation} is a binary
-- collation without padding: utf8mb4_nopad_bin on MariaDB, utf8mb4_0900_bin on MySQL. No statement rolls back a table
-- that it has created, so each can be run again.
CREATE TABLE IF NOT EXISTS ${table} (
  id              BINARY(16)     NOT NULL,  -- the first 16 bytes of SHA-256(length of scope, scope, key)
  scope           VARCHAR(512)   NOT NULL,
  `key`           VARCHAR(512)   NOT NULL,
  state           CHAR(1)        NOT NULL,  -- P in progress, C completed, F failed
  fence           INTEGER        NOT NULL,  -- grows with every claim
  attempt         INTEGER        NOT NULL,  -- starts since the last completion
  token           BINARY(16),               -- the owner
  fingerprint     VARBINARY(255),
  lease_until     DATETIME(6),
  created_at      DATETIME(6)    NOT NULL,
  expires_at      DATETIME(6)    NOT NULL,  -- set by a claim, never by its completion
  completed_at    DATETIME(6),
  version         BIGINT,                   -- of the last claim
  decided_version BIGINT,                   -- the highest one that has completed
  result          LONGBLOB,
  error_type      TEXT,
  error_message   TEXT,
  PRIMARY KEY (id),
  -- For the cleanup. No column that a completion changes is indexed.
  INDEX ${name}_expires_at (expires_at),
  CONSTRAINT ${name}_state CHECK (state IN ('P', 'C', 'F'))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE ${collation};

-- The last processed offset of each partition, for listeners whose records have no key. One row for each scope,
-- partition and identity of a topic.
CREATE TABLE IF NOT EXISTS ${table}_offset (
  id              BINARY(16)   NOT NULL,  -- the first 16 bytes of SHA-256 over the scope, the topic, its id and the partition
  scope           VARCHAR(512) NOT NULL,
  topic           VARCHAR(249) NOT NULL,
  topic_partition INTEGER      NOT NULL,
  topic_id        BINARY(16)   NOT NULL,  -- a topic that was created again has another one
  last_offset     BIGINT       NOT NULL,
  previous_offset BIGINT,                 -- the mark before the last update, which returns it
  token           BINARY(16),             -- the transaction that raised it last
  updated_at      DATETIME(6)  NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE ${collation};
