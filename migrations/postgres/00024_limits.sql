-- Limits by address count the /48 of an IPv6 address beside its /64, and the
-- relay counts the bytes that it keeps for an owner.

-- +goose Up
ALTER TABLE votes ADD COLUMN site BYTEA NOT NULL DEFAULT '\x0000000000000000000000000000000000000000000000000000000000000000'; -- SHA-256 of site and match; zero: it has none
CREATE INDEX votes_by_site ON votes (match_id, round, site);
ALTER TABLE conversations ADD COLUMN site TEXT COLLATE "C" NOT NULL DEFAULT ''; -- '': none
CREATE INDEX conversations_by_site ON conversations (site, expires_at) WHERE site <> '';

-- Envelopes from before count for nobody: they are kept for a day.
ALTER TABLE envelopes ADD COLUMN owner_id TEXT COLLATE "C" NOT NULL DEFAULT ''; -- of the sender; '': the arena
ALTER TABLE envelopes ADD COLUMN size BIGINT NOT NULL DEFAULT 0; -- bytes of the body
CREATE INDEX envelopes_by_owner ON envelopes (owner_id, size) WHERE owner_id <> '';

-- +goose Down
DROP INDEX envelopes_by_owner;
ALTER TABLE envelopes DROP COLUMN size;
ALTER TABLE envelopes DROP COLUMN owner_id;
DROP INDEX conversations_by_site;
ALTER TABLE conversations DROP COLUMN site;
DROP INDEX votes_by_site;
ALTER TABLE votes DROP COLUMN site;
