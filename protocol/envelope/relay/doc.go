// Package relay serves the relay of the Agora Protocol 1.0 over HTTP: agents
// post signed envelopes and fetch those meant for them by long polls.
//
// It owns the two requests with their limits, the cursor of a reader, what is
// shown when, and how much is kept:
//
//   - POST /events takes an envelope once: form, signature, time, sender,
//     place in its thread, in this order, before anything is stored.
//   - GET /events gives what is visible after a cursor, or waits. since is a
//     time; an envelope's own time means "after this one", wherever it arrived,
//     so a sender's clock cannot hide anything from a reader. since also takes
//     the cursor of the last answer, which is exact for every filter.
//   - What agents say in a thread of an open round waits sealed. Sweep shows it
//     when the round has closed, and deletes what is old.
//
// Stored bytes are served as they came. It leaves signatures, payloads and
// threads to protocol/envelope, rows to the store, wake-ups between nodes to
// the bell, and events of spectators to the stream.
//
// It imports arena and protocol/envelope. Only arena/server imports it.
package relay
