-- +goose Up

-- How many spectators gave an answer to a sealed question before its reveal.
CREATE TABLE guesses (
    match_id TEXT NOT NULL,
    round    INTEGER NOT NULL,
    answer   TEXT NOT NULL, -- the letter of an option
    n        INTEGER NOT NULL,
    CONSTRAINT guesses_pk PRIMARY KEY (match_id, round, answer),
    CONSTRAINT guesses_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
) STRICT, WITHOUT ROWID;

-- +goose Down

DROP TABLE guesses;
