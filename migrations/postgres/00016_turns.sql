-- +goose Up

-- What the match's game asks of the seats in the round, JSON; '' if the round
-- puts its task to every seat.
ALTER TABLE rounds ADD COLUMN turn TEXT COLLATE "C" NOT NULL DEFAULT '';
-- When the vote of spectators on the round ends; 0: none was opened.
ALTER TABLE rounds ADD COLUMN vote_until BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE rounds DROP COLUMN vote_until;
ALTER TABLE rounds DROP COLUMN turn;
