-- +goose Up

-- 1 from the write that stores a round's last outcome to the one that closes the
-- round, under a judge that evaluates answers. A lease that ends in between is an
-- interruption: judging the match may be what breaks its nodes.
ALTER TABLE matches ADD COLUMN judging BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE matches DROP COLUMN judging;
