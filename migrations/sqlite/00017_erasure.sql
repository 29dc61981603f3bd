-- What records in format 2 need: the salt of the seed, the keys of the salts of
-- texts, and what remains of texts that were erased.

-- +goose Up

ALTER TABLE matches ADD COLUMN seed_salt TEXT NOT NULL DEFAULT ''; -- '': match_started does not commit to the seed
ALTER TABLE seats ADD COLUMN salt TEXT NOT NULL DEFAULT ''; -- secret; '': erased, or the match has a record in format 1

CREATE TABLE erasures (
    match_id    TEXT NOT NULL,
    commitments TEXT NOT NULL, -- to all erased texts, by pointer into the record; JSON
    CONSTRAINT erasures_pk PRIMARY KEY (match_id),
    CONSTRAINT erasures_match FOREIGN KEY (match_id) REFERENCES matches (id)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE erasures;
ALTER TABLE seats DROP COLUMN salt;
ALTER TABLE matches DROP COLUMN seed_salt;
