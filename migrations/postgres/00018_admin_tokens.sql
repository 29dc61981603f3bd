-- +goose Up

ALTER TABLE owners ADD COLUMN suspended_at BIGINT NOT NULL DEFAULT 0;

ALTER TABLE tokens ADD COLUMN leagues TEXT COLLATE "C" NOT NULL DEFAULT '[]'; -- [slug], of an organizer
ALTER TABLE tokens ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN configured BIGINT NOT NULL DEFAULT 0; -- 1: ARENA_ADMIN_TOKEN holds it, or held it once
ALTER TABLE tokens DROP CONSTRAINT tokens_scope;
ALTER TABLE tokens ADD CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin', 'organizer', 'moderator'));
UPDATE tokens SET configured = 1 WHERE owner_id IS NULL AND name = 'ARENA_ADMIN_TOKEN';

-- +goose Down
DELETE FROM tokens WHERE scope NOT IN ('owner', 'admin');
ALTER TABLE tokens DROP CONSTRAINT tokens_scope;
ALTER TABLE tokens ADD CONSTRAINT tokens_scope CHECK (scope IN ('owner', 'admin'));
ALTER TABLE tokens DROP COLUMN configured;
ALTER TABLE tokens DROP COLUMN expires_at;
ALTER TABLE tokens DROP COLUMN leagues;
ALTER TABLE owners DROP COLUMN suspended_at;
