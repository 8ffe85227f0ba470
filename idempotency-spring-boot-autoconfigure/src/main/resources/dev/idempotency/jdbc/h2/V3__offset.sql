-- The last processed offset of each partition, for listeners whose records have no key. One row for each scope,
-- partition and identity of a topic.
CREATE TABLE IF NOT EXISTS ${table}_offset (
  id              UUID                        NOT NULL,  -- of the scope, the topic, its id and the partition
  scope           CHARACTER VARYING           NOT NULL,
  topic           CHARACTER VARYING           NOT NULL,
  topic_partition INTEGER                     NOT NULL,
  topic_id        UUID                        NOT NULL,  -- a topic that was created again has another one
  last_offset     BIGINT                      NOT NULL,
  previous_offset BIGINT,                                -- the mark before the last update, which returns it
  updated_at      TIMESTAMP(6) WITH TIME ZONE NOT NULL,
  CONSTRAINT ${name}_offset_pk PRIMARY KEY (id)
);
