// Package migrations holds the schema, one folder of numbered goose files per
// engine. Both folders hold the same tables, columns, indexes and constraint
// names; only the types' names differ. A file that was released is never
// edited: a change is a new number in both folders.
//
// A program refuses a schema with a higher number than its own. A program that is
// already running when a newer one migrates continues to play, as in a rolling upgrade.
// If it would misread or damage rows, the migration renames the column with the end of a
// match's lease, so that the older program can no longer claim or renew matches.
//
// It owns the text of the schema and leaves running it to store, the only
// package that imports it.
package migrations
