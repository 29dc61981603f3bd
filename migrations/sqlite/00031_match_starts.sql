-- Lists of the matches of all leagues by date read this index.

-- +goose Up
CREATE INDEX matches_by_time ON matches (starts_at, id);

-- +goose Down
DROP INDEX matches_by_time;
