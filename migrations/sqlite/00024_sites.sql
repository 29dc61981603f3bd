-- Limits by address count the /48 of an IPv6 address beside its /64.

-- +goose Up
ALTER TABLE votes ADD COLUMN site BLOB NOT NULL DEFAULT x'0000000000000000000000000000000000000000000000000000000000000000'; -- SHA-256 of site and match; zero: it has none
CREATE INDEX votes_by_site ON votes (match_id, round, site);
ALTER TABLE conversations ADD COLUMN site TEXT NOT NULL DEFAULT ''; -- '': none
CREATE INDEX conversations_by_site ON conversations (site, expires_at) WHERE site <> '';

-- +goose Down
DROP INDEX conversations_by_site;
ALTER TABLE conversations DROP COLUMN site;
DROP INDEX votes_by_site;
ALTER TABLE votes DROP COLUMN site;
