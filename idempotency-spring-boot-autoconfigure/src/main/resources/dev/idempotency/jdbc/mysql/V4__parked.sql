-- Records that wait for the owner of their key, so that the other records of their partition need not wait. All times
-- are UTC. Each statement can be run again.
CREATE TABLE IF NOT EXISTS ${table}_parked (
  id               BINARY(16)   NOT NULL,  -- of the scope, the topic, the partition, the offset and the record's timestamp
  position         BIGINT       NOT NULL AUTO_INCREMENT,  -- the order of the records of a partition
  partition_id     BINARY(16)   NOT NULL,  -- of the scope, the topic and the partition
  scope            VARCHAR(512) NOT NULL,
  topic            VARCHAR(249) NOT NULL,
  topic_partition  INTEGER      NOT NULL,
  record_offset    BIGINT       NOT NULL,
  record_timestamp BIGINT       NOT NULL,  -- a topic that was created again has the same offsets at other times
  timestamp_type   SMALLINT     NOT NULL,
  message_key      LONGBLOB,
  headers          LONGBLOB     NOT NULL,
  message_value    LONGBLOB,
  attempts         INTEGER      NOT NULL DEFAULT 0,
  parked_at        DATETIME(6)  NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  PRIMARY KEY (id),
  UNIQUE INDEX ${name}_parked_position (position),
  INDEX ${name}_parked_order (partition_id, position)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE ${collation};

-- The consumer that may park records of a partition: the one to which the partition was assigned last.
CREATE TABLE IF NOT EXISTS ${table}_parked_owner (
  id              BINARY(16)   NOT NULL,  -- of the scope, the topic and the partition
  scope           VARCHAR(512) NOT NULL,
  topic           VARCHAR(249) NOT NULL,
  topic_partition INTEGER      NOT NULL,
  owner           BINARY(16)   NOT NULL,
  assigned_at     DATETIME(6)  NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE ${collation};
