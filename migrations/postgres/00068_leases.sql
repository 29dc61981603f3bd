-- +goose Up

-- A node looks for matches whose lease has ended whenever it may play another one.
CREATE INDEX matches_leased ON matches (leased_until, id) WHERE status = 'running';

-- Each round changes the rows of a match and its seats. With room in their pages the new
-- versions stay there, and no index changes.
ALTER TABLE matches SET (fillfactor = 50);
ALTER TABLE seats SET (fillfactor = 50);

-- +goose Down

ALTER TABLE seats RESET (fillfactor);
ALTER TABLE matches RESET (fillfactor);
DROP INDEX matches_leased;
