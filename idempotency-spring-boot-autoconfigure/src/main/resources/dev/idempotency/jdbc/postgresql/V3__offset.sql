-- The last processed offset of each partition, for listeners whose records have no key. One row for each scope,
-- partition and identity of a topic.
CREATE TABLE IF NOT EXISTS ${table}_offset (
  id              uuid        NOT NULL,  -- the first 16 bytes of SHA-256 over the scope, the topic, its id and the partition
  scope           text        NOT NULL,
  topic           text        NOT NULL,
  topic_partition integer     NOT NULL,
  topic_id        uuid        NOT NULL,  -- a topic that was created again has another one
  last_offset     bigint      NOT NULL,
  previous_offset bigint,                -- the mark before the last update, which returns it
  updated_at      timestamptz NOT NULL,
  CONSTRAINT ${name}_offset_pk PRIMARY KEY (id)
) WITH (
  -- No updated column is indexed, and each page has room for new versions of its rows: updates stay heap-only.
  fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000
);

-- Running instances may use the new table at once: the users who may write records may write marks, too.
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
    EXECUTE format('GRANT %s ON ${table}_offset TO %s', g.privilege, g.grantee);
  END LOOP;
END $$;
