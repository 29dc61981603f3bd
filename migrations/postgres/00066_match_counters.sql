-- +goose Up

-- Matches that are over, by how they ended, and the events in their logs. Triggers keep
-- them, since every update that ends a match or drops a log must count, also one of a
-- node of the previous version. They run at the commit, so that a transaction holds the
-- rows of counters for as short as it can, and sees the last event of the log.

-- +goose StatementBegin
CREATE FUNCTION count_match() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> OLD.status THEN
        UPDATE counters SET value = value + 1 WHERE name = 'matches ' || NEW.status;
        UPDATE counters SET value = value + (SELECT m.seq FROM matches m WHERE m.id = NEW.id) WHERE name = 'log events';
    END IF;
    IF NEW.log_state = 2 AND OLD.log_state <> 2 THEN
        UPDATE counters SET value = value - NEW.seq WHERE name = 'log events';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- The lock of a new trigger keeps others from writing until the rows are counted.
CREATE CONSTRAINT TRIGGER matches_ended AFTER UPDATE OF status ON matches DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (NEW.status IN ('finished', 'void', 'cancelled') AND OLD.status NOT IN ('finished', 'void', 'cancelled'))
EXECUTE FUNCTION count_match();
CREATE CONSTRAINT TRIGGER matches_log_dropped AFTER UPDATE OF log_state ON matches DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
WHEN (NEW.log_state = 2 AND OLD.log_state <> 2)
EXECUTE FUNCTION count_match();

INSERT INTO counters (name, value)
SELECT 'matches ' || s.column1, (SELECT count(*) FROM matches m WHERE m.status = s.column1)
FROM (VALUES ('finished'), ('void'), ('cancelled')) s;
INSERT INTO counters (name, value)
SELECT 'log events', COALESCE(sum(m.seq), 0) FROM matches m WHERE m.status IN ('finished', 'void', 'cancelled') AND m.log_state <> 2;

-- +goose Down

DROP TRIGGER matches_log_dropped ON matches;
DROP TRIGGER matches_ended ON matches;
DROP FUNCTION count_match();
DELETE FROM counters WHERE name LIKE 'matches %' OR name = 'log events';
