// Package mail writes to owners: links that confirm an address, links that re-issue
// lost tokens, and notices that the arena has paused an agent.
//
// It owns the texts, in plain English, the limits of how many there are, the
// pauses between attempts to deliver, and the secrets of links. The queue of mails
// is rows of the store, which nodes share; they hold no text and no secret, since
// both are made when a mail is sent. It leaves to account what a link does,
// and to registry when an agent is paused.
//
// Neither texts, addresses nor secrets are in logs.
package mail
