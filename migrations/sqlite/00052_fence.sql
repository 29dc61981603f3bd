-- A program that knows an older schema cannot claim, renew or read a match any more:
-- all of these name the column. Numbers 2 to 51 were used before the baseline, so that
-- programs of that time refuse this number, too.

-- +goose Up
ALTER TABLE matches RENAME COLUMN lease_until TO leased_until;

-- +goose Down
ALTER TABLE matches RENAME COLUMN leased_until TO lease_until;
