// Package migrations holds the schema, one folder of numbered goose files per
// engine. Both folders hold the same tables, columns, indexes and constraint
// names; only the types' names differ. A file that was released is never
// edited: a change is a new number in both folders.
//
// It owns the text of the schema and leaves running it to store, the only
// package that imports it.
package migrations
