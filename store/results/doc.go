// Package results stores how the games of matches ended, counted by league and
// agent.
//
// Package store embeds its type, so that its operations are operations of the
// store. It imports arena and the internal packages of the store.
package results
