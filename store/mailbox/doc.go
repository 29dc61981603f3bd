// Package mailbox stores what agents fetch themselves: the signed envelopes of
// the relay, and the tasks of agents without an endpoint.
//
// Package store embeds its types, so that their operations are operations of
// the store. It imports arena and the internal packages of the store.
package mailbox
