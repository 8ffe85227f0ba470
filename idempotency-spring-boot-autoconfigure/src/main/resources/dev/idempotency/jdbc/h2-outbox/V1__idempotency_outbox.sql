-- Messages that wait to be published.
CREATE TABLE ${table} (
  id              UUID              NOT NULL,
  position        BIGINT            GENERATED ALWAYS AS IDENTITY,  -- the order of messages with the same topic and key
  lane            SMALLINT          NOT NULL,                      -- a hash of topic and key: what a relay locks
  aggregatetype   CHARACTER VARYING NOT NULL,
  aggregateid     CHARACTER VARYING NOT NULL,
  type            CHARACTER VARYING NOT NULL,
  topic           CHARACTER VARYING NOT NULL,
  message_key     BINARY VARYING,
  payload         BINARY VARYING,
  headers         CHARACTER VARYING,                               -- application/x-www-form-urlencoded
  idempotency_key CHARACTER VARYING NOT NULL,
  created_at      TIMESTAMP(6) WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL,
  published_at    TIMESTAMP(6) WITH TIME ZONE,
  attempts        INTEGER           DEFAULT 0 NOT NULL,            -- how often the broker has refused it
  next_attempt_at TIMESTAMP(6) WITH TIME ZONE,
  dead_letter_at  TIMESTAMP(6) WITH TIME ZONE,
  error_type      CHARACTER VARYING,
  error_message   CHARACTER VARYING,
  blocked_by      UUID,                                            -- the dead letter with the same topic and key
  CONSTRAINT ${name}_pk PRIMARY KEY (id),
  CONSTRAINT ${name}_lane_range CHECK (lane BETWEEN 0 AND 63)
);

CREATE INDEX ${name}_pending ON ${table} (lane, position);
CREATE INDEX ${name}_published ON ${table} (published_at);

-- The relay that has locked a lane publishes its messages.
CREATE TABLE ${table}_lane (
  lane SMALLINT NOT NULL,
  CONSTRAINT ${name}_lane_pk PRIMARY KEY (lane)
);
INSERT INTO ${table}_lane SELECT * FROM SYSTEM_RANGE(0, 63);
