-- The message with the same topic and key that this one waits for: both are set aside. And no relay looks into other
-- lanes.
ALTER TABLE ${table} ADD COLUMN blocked_by UUID;
ALTER TABLE ${table} ADD CONSTRAINT ${name}_lane_range CHECK (lane BETWEEN 0 AND 63) NOCHECK;
