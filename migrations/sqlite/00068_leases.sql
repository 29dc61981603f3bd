-- +goose Up

-- A node looks for matches whose lease has ended whenever it may play another one.
CREATE INDEX matches_leased ON matches (leased_until, id) WHERE status = 'running';

-- +goose Down

DROP INDEX matches_leased;
