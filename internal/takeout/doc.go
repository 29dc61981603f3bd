// Package takeout writes the archive of everything that the arena stores about
// an owner: one ZIP file of JSON documents, made while it is read.
//
// It owns the names and the form of the files. It leaves to its caller who may
// have an archive, and rows to store. Nothing of other owners and nothing secret
// is in it: of a match it holds the owner's own seats and answers, of a token its
// name and its uses.
package takeout
