-- +goose Up

-- Whether the reply exceeded the token limit of its round.
ALTER TABLE answers ADD COLUMN over_tokens BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE answers DROP COLUMN over_tokens;
