-- Messages that wait to be published, for MariaDB and MySQL. All times are UTC. ${collation} is a binary collation
-- without padding: utf8mb4_nopad_bin on MariaDB, utf8mb4_0900_bin on MySQL. Each statement can be run again.
CREATE TABLE IF NOT EXISTS ${table} (
  id              BINARY(16)  NOT NULL,
  position        BIGINT      NOT NULL AUTO_INCREMENT,  -- the order of messages with the same topic and key
  lane            SMALLINT    NOT NULL,                 -- a hash of topic and key: what a relay locks
  aggregatetype   MEDIUMTEXT  NOT NULL,
  aggregateid     MEDIUMTEXT  NOT NULL,
  type            MEDIUMTEXT  NOT NULL,
  topic           MEDIUMTEXT  NOT NULL,
  message_key     LONGBLOB,
  payload         LONGBLOB,
  headers         LONGTEXT,                             -- application/x-www-form-urlencoded
  idempotency_key MEDIUMTEXT  NOT NULL,
  created_at      DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  published_at    DATETIME(6),
  attempts        INTEGER     NOT NULL DEFAULT 0,       -- how often the broker has refused it
  next_attempt_at DATETIME(6),
  dead_letter_at  DATETIME(6),
  error_type      TEXT,
  error_message   TEXT,
  blocked_by      BINARY(16),                           -- the dead letter with the same topic and key
  PRIMARY KEY (id),
  UNIQUE INDEX ${name}_position (position),
  -- The messages to publish, in the order of each lane.
  INDEX ${name}_pending (published_at, dead_letter_at, lane, position),
  -- The few that were refused, and delay or block later messages.
  INDEX ${name}_refused (lane, published_at, next_attempt_at),
  -- Dead letters, and the messages behind each of them.
  INDEX ${name}_dead (dead_letter_at),
  INDEX ${name}_blocked (blocked_by, position),
  CONSTRAINT ${name}_lane_range CHECK (lane BETWEEN 0 AND 63)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC CHARACTER SET utf8mb4 COLLATE ${collation};

-- The relay that has locked a lane publishes its messages.
CREATE TABLE IF NOT EXISTS ${table}_lane (
  lane SMALLINT NOT NULL,
  PRIMARY KEY (lane)
) ENGINE = InnoDB;

INSERT IGNORE INTO ${table}_lane (lane) VALUES
  (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11), (12), (13), (14), (15), (16), (17), (18), (19),
  (20), (21), (22), (23), (24), (25), (26), (27), (28), (29), (30), (31), (32), (33), (34), (35), (36), (37),
  (38), (39), (40), (41), (42), (43), (44), (45), (46), (47), (48), (49), (50), (51), (52), (53), (54), (55),
  (56), (57), (58), (59), (60), (61), (62), (63);
