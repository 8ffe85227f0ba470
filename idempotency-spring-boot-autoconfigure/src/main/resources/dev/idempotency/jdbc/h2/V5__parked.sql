-- Records that wait for the owner of their key, so that the other records of their partition need not wait.
CREATE TABLE IF NOT EXISTS ${table}_parked (
  id               UUID                        NOT NULL,  -- of the scope, the topic, the partition, the offset and the time
  position         BIGINT                      GENERATED ALWAYS AS IDENTITY,  -- the order of the records of a partition
  partition_id     UUID                        NOT NULL,  -- of the scope, the topic and the partition
  scope            CHARACTER VARYING           NOT NULL,
  topic            CHARACTER VARYING           NOT NULL,
  topic_partition  INTEGER                     NOT NULL,
  record_offset    BIGINT                      NOT NULL,
  record_timestamp BIGINT                      NOT NULL,  -- a topic that was created again has the same offsets
  timestamp_type   SMALLINT                    NOT NULL,
  message_key      BINARY VARYING,
  headers          BINARY VARYING              NOT NULL,
  message_value    BINARY VARYING,
  attempts         INTEGER                     DEFAULT 0 NOT NULL,
  parked_at        TIMESTAMP(6) WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
  CONSTRAINT ${name}_parked_pk PRIMARY KEY (id)
);

CREATE INDEX IF NOT EXISTS ${name}_parked_order ON ${table}_parked (partition_id, position);

-- The consumer that may park records of a partition: the one to which the partition was assigned last.
CREATE TABLE IF NOT EXISTS ${table}_parked_owner (
  id              UUID                        NOT NULL,  -- of the scope, the topic and the partition
  scope           CHARACTER VARYING           NOT NULL,
  topic           CHARACTER VARYING           NOT NULL,
  topic_partition INTEGER                     NOT NULL,
  owner           UUID                        NOT NULL,
  assigned_at     TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  CONSTRAINT ${name}_parked_owner_pk PRIMARY KEY (id)
);
