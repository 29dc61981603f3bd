// Package people stores who has which role, who is signed in with a browser, and
// who is invited.
//
// Package store embeds Access, so that its operations are operations of the store.
// Owners and their tokens are in package store, which joins the two. It imports
// arena and the internal packages of the store.
package people
