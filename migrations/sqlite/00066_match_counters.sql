-- +goose Up

-- Matches that are over, by how they ended, and the events in their logs. Triggers keep
-- them, since every update that ends a match or drops a log must count. The last event
-- of a match is stored before its status.
INSERT INTO counters (name, value)
SELECT 'matches ' || s.column1, (SELECT count(*) FROM matches m WHERE m.status = s.column1)
FROM (VALUES ('finished'), ('void'), ('cancelled')) s;
INSERT INTO counters (name, value)
SELECT 'log events', COALESCE(sum(m.seq), 0) FROM matches m WHERE m.status IN ('finished', 'void', 'cancelled') AND m.log_state <> 2;

-- +goose StatementBegin
CREATE TRIGGER matches_ended AFTER UPDATE OF status ON matches
WHEN NEW.status IN ('finished', 'void', 'cancelled') AND OLD.status NOT IN ('finished', 'void', 'cancelled')
BEGIN
    UPDATE counters SET value = value + 1 WHERE name = 'matches ' || NEW.status;
    UPDATE counters SET value = value + NEW.seq WHERE name = 'log events';
END;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TRIGGER matches_log_dropped AFTER UPDATE OF log_state ON matches
WHEN NEW.log_state = 2 AND OLD.log_state <> 2
BEGIN
    UPDATE counters SET value = value - NEW.seq WHERE name = 'log events';
END;
-- +goose StatementEnd

-- +goose Down

DROP TRIGGER matches_log_dropped;
DROP TRIGGER matches_ended;
DELETE FROM counters WHERE name LIKE 'matches %' OR name = 'log events';
