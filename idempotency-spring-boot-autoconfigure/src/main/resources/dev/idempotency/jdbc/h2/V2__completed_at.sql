-- When the operation was completed, unless an instance of an older version has recorded that.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS completed_at TIMESTAMP(6) WITH TIME ZONE;
