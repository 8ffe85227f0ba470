-- The last processed offset of each partition, for listeners whose records have no key. One row for each scope,
-- partition and identity of a topic. All times are UTC. The statement can be run again.
CREATE TABLE IF NOT EXISTS ${table}_offset (
  id              BINARY(16)   NOT NULL,  -- the first 16 bytes of SHA-256 over the scope, the topic, its id and the partition
  scope           VARCHAR(512) NOT NULL,
  topic           VARCHAR(249) NOT NULL,
  topic_partition INTEGER      NOT NULL,
  topic_id        BINARY(16)   NOT NULL,  -- a topic that was created again has another one
  last_offset     BIGINT       NOT NULL,
  previous_offset BIGINT,                 -- the mark before the last update, which returns it
  updated_at      DATETIME(6)  NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE ${collation};
