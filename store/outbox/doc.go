// Package outbox stores the mails to owners that wait for their delivery, the
// links in them, and where and whether owners get mails.
//
// Package store embeds Outbox, so that its operations are operations of the store.
// It imports arena and the internal packages of the store.
package outbox
