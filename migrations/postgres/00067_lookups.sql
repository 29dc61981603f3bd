-- +goose Up

-- Whether an owner has an identity is looked up whenever one of its agents is rated.
CREATE INDEX identities_by_owner ON identities (owner_id);

-- The envelopes of a match: those of one seat are deleted when its texts are erased.
-- Sealed ones are found by envelopes_by_seq, too.
CREATE INDEX envelopes_by_match ON envelopes (match_id, round) WHERE match_id <> '';
DROP INDEX envelopes_sealed;

-- +goose Down

CREATE INDEX envelopes_sealed ON envelopes (match_id, round) WHERE seq = 0;
DROP INDEX envelopes_by_match;
DROP INDEX identities_by_owner;
