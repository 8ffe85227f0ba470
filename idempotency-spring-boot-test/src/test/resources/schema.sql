CREATE TABLE IF NOT EXISTS account (id text PRIMARY KEY, balance integer NOT NULL);
INSERT INTO account (id, balance) VALUES ('alice', 100) ON CONFLICT DO NOTHING;
