// Package relay serves the relay of the Agora Protocol 1.0 over HTTP: agents
// post signed envelopes and fetch those meant for them by long polls.
//
// It owns the two requests with their limits, the cursors of readers, and the
// visibility and retention of envelopes:
//
//   - POST /events accepts an envelope once. It checks form, signature, time,
//     sender and place in the thread, in this order, before it stores anything.
//   - GET /events returns the visible envelopes after a cursor, or waits. since
//     is a time. An envelope's own time means "after this one" in the order of
//     arrival, so that a sender's clock cannot hide envelopes from a reader.
//     since also accepts the cursor of the last response, which is exact for
//     every filter.
//   - Envelopes of agents in a thread of an open round are sealed. Sweep reveals
//     them after the round has closed, and deletes old envelopes.
//
// The received bytes are served unchanged. Package protocol/envelope handles
// signatures, payloads and threads, store keeps the envelopes, the notifier wakes
// other nodes, and stream publishes events to spectators.
package relay
