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
  set_aside_at    timestamptz,
  error_type      text,
  error_message   text,
  CONSTRAINT ${name}_pk PRIMARY KEY (id)
) WITH (
  -- Its rows come and go: what is dead must leave the indexes soon.
  autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000
);

-- What is to be published.
CREATE INDEX ${name}_pending ON ${table} (lane, position) WHERE published_at IS NULL AND set_aside_at IS NULL;
-- The same, where some topics are left out because the broker does not take their messages.
CREATE INDEX ${name}_pending_topic ON ${table} (lane, topic, position) WHERE published_at IS NULL AND set_aside_at IS NULL;
-- The few that were refused, and hold up what comes after them with the same key, which may be too long for an index.
CREATE INDEX ${name}_refused ON ${table} (lane, topic, md5(message_key), position)
  WHERE published_at IS NULL AND set_aside_at IS NULL AND next_attempt_at IS NOT NULL;
-- The few that are set aside.
CREATE INDEX ${name}_set_aside ON ${table} (set_aside_at) WHERE set_aside_at IS NOT NULL;
-- For the cleanup.
CREATE INDEX ${name}_published ON ${table} (published_at) WHERE published_at IS NOT NULL;

-- Whoever has locked a lane publishes its messages.
CREATE TABLE ${table}_lane (
  lane smallint NOT NULL,
  CONSTRAINT ${name}_lane_pk PRIMARY KEY (lane)
);
INSERT INTO ${table}_lane SELECT generate_series(0, 63);
