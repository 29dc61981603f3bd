-- +goose Up

-- How many spectators gave an answer to a sealed question before its reveal.
CREATE TABLE guesses (
    match_id TEXT COLLATE "C" NOT NULL,
    round    BIGINT NOT NULL,
    answer   TEXT COLLATE "C" NOT NULL, -- the letter of an option
    n        BIGINT NOT NULL,
    CONSTRAINT guesses_pk PRIMARY KEY (match_id, round, answer),
    CONSTRAINT guesses_round FOREIGN KEY (match_id, round) REFERENCES rounds (match_id, no)
);

-- +goose Down

DROP TABLE guesses;
