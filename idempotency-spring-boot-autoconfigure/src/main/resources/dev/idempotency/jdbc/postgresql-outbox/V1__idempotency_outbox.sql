-- Messages that wait to be published, with the columns that Debezium's outbox event router reads.
CREATE TABLE ${table} (
  id              uuid        NOT NULL,
  position        bigint      GENERATED ALWAYS AS IDENTITY,  -- the order of messages with the same topic and key
  lane            smallint    NOT NULL,                      -- a hash of topic and key: what a relay locks
  aggregatetype   text        NOT NULL,
  aggregateid     text        NOT NULL,
  type            text        NOT NULL,
  topic           text        NOT NULL,
  message_key     bytea,
  payload         bytea,
  headers         text,                                      -- application/x-www-form-urlencoded
  idempotency_key text        NOT NULL,
  created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
  published_at    timestamptz,
  attempts        integer     NOT NULL DEFAULT 0,            -- how often the broker has refused it
  next_attempt_at timestamptz,
  dead_letter_at    timestamptz,
  error_type      text,
  error_message   text,
  blocked_by      uuid,                                      -- the dead letter with the same topic and key
  CONSTRAINT ${name}_pk PRIMARY KEY (id),
  CONSTRAINT ${name}_lane_range CHECK (lane BETWEEN 0 AND 63)
) WITH (
  -- Rows come and go: dead ones must leave the indexes soon, also if only a few pages have any.
  autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000, vacuum_index_cleanup = on
);

-- The messages to publish, and the same where topics are left out that the broker does not accept at the moment.
CREATE INDEX ${name}_pending ON ${table} (lane, position) WHERE published_at IS NULL AND dead_letter_at IS NULL;
CREATE INDEX ${name}_pending_topic ON ${table} (lane, topic, position) WHERE published_at IS NULL AND dead_letter_at IS NULL;
-- Messages that are retried, which may be before the position from which on a relay looks.
CREATE INDEX ${name}_retried ON ${table} (lane, position)
  WHERE published_at IS NULL AND dead_letter_at IS NULL AND next_attempt_at IS NOT NULL;
-- Refused messages and dead letters by their ordering key, which may be too long for an index. A server in FIPS mode has
-- no md5().
CREATE INDEX ${name}_blocking ON ${table} (lane, topic, sha256(message_key), position)
  WHERE published_at IS NULL AND next_attempt_at IS NOT NULL;
-- Dead letters, and the messages behind each of them.
CREATE INDEX ${name}_dead ON ${table} (dead_letter_at) WHERE dead_letter_at IS NOT NULL AND blocked_by IS NULL;
CREATE INDEX ${name}_blocked ON ${table} (blocked_by, position) WHERE dead_letter_at IS NOT NULL AND blocked_by IS NOT NULL;
-- For the cleanup.
CREATE INDEX ${name}_published ON ${table} (published_at) WHERE published_at IS NOT NULL;

-- The relay that has locked a lane publishes its messages.
CREATE TABLE ${table}_lane (
  lane smallint NOT NULL,
  CONSTRAINT ${name}_lane_pk PRIMARY KEY (lane)
);
INSERT INTO ${table}_lane SELECT generate_series(0, 63);
