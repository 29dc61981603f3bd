// Package migrations holds the schema, one folder of numbered goose files per
// engine. Both folders hold the same tables, columns, indexes and constraint
// names; only the types' names differ. A file that was released is never
// edited: a change is a new number in both folders.
//
// A program refuses a schema with a higher number than its own. One that runs while a
// newer one migrates plays on, as in a rolling upgrade. If it must not, because it would
// misread or spoil rows, the migration renames the column that ends the lease of a
// match: the older program then claims and renews no match.
//
// It owns the text of the schema and leaves running it to store, the only
// package that imports it.
package migrations
