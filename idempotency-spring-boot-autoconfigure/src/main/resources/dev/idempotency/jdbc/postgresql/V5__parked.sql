-- Records that wait for the owner of their key, so that the other records of their partition need not wait.
CREATE TABLE IF NOT EXISTS ${table}_parked (
  id               uuid        NOT NULL,  -- of the scope, the topic, the partition, the offset and the record's timestamp
  position         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,  -- the order of the records of a partition
  partition_id     uuid        NOT NULL,  -- of the scope, the topic and the partition
  scope            text        NOT NULL,
  topic            text        NOT NULL,
  topic_partition  integer     NOT NULL,
  record_offset    bigint      NOT NULL,
  record_timestamp bigint      NOT NULL,  -- a topic that was created again has the same offsets at other times
  timestamp_type   smallint    NOT NULL,
  message_key      bytea,
  headers          bytea       NOT NULL,
  message_value    bytea,
  attempts         integer     NOT NULL DEFAULT 0,
  parked_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT ${name}_parked_pk PRIMARY KEY (id)
);

CREATE INDEX IF NOT EXISTS ${name}_parked_order ON ${table}_parked (partition_id, position);

-- The consumer that may park records of a partition: the one to which the partition was assigned last.
CREATE TABLE IF NOT EXISTS ${table}_parked_owner (
  id              uuid        NOT NULL,  -- of the scope, the topic and the partition
  scope           text        NOT NULL,
  topic           text        NOT NULL,
  topic_partition integer     NOT NULL,
  owner           uuid        NOT NULL,
  assigned_at     timestamptz NOT NULL,
  CONSTRAINT ${name}_parked_owner_pk PRIMARY KEY (id)
);

-- Running instances may use the new tables at once: the users who may write records may park records, too.
DO $$
DECLARE
  g record;
BEGIN
  FOR g IN
    SELECT a.privilege_type AS privilege,
      CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_class c CROSS JOIN aclexplode(c.relacl) a
    WHERE c.oid = '${table}'::regclass AND a.grantee <> c.relowner
      AND a.privilege_type IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
  LOOP
    EXECUTE format('GRANT %s ON ${table}_parked, ${table}_parked_owner TO %s', g.privilege, g.grantee);
  END LOOP;
END $$;
