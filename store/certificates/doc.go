// Package certificates stores what the nodes of an arena share to serve TLS: the
// files of the ACME client, which hold private keys, and the locks of those who
// change them.
//
// Package store embeds its type, so that its operations are operations of the
// store. It imports arena and the internal packages of the store.
package certificates
