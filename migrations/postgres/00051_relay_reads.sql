-- Polls of the relay find what they ask for by an index that also says what has
-- expired: bodies are read of what is delivered alone.

-- +goose Up

DROP INDEX envelopes_by_seq;
DROP INDEX envelopes_by_recipient;
CREATE INDEX envelopes_by_seq ON envelopes (seq, expires_at);
CREATE INDEX envelopes_by_type ON envelopes (type, seq, expires_at);
CREATE INDEX envelopes_by_recipient ON envelopes (recipient, seq, expires_at);
CREATE INDEX envelopes_by_recipient_and_type ON envelopes (recipient, type, seq, expires_at);
CREATE INDEX envelopes_by_sender_in_order ON envelopes (sender, seq, expires_at, type, recipient);
CREATE INDEX envelopes_by_thread_in_order ON envelopes (thread, seq, expires_at, type);
CREATE INDEX envelopes_by_time ON envelopes (ts, seq);

-- +goose Down

DROP INDEX envelopes_by_time;
DROP INDEX envelopes_by_thread_in_order;
DROP INDEX envelopes_by_sender_in_order;
DROP INDEX envelopes_by_recipient_and_type;
DROP INDEX envelopes_by_recipient;
DROP INDEX envelopes_by_type;
DROP INDEX envelopes_by_seq;
CREATE INDEX envelopes_by_seq ON envelopes (seq);
CREATE INDEX envelopes_by_recipient ON envelopes (recipient, seq);
