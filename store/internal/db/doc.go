// Package db runs SQL on SQLite and PostgreSQL. It owns the connections, the
// differences between the two engines (Dialect), the prepared statements
// (Handle and Tx), the meaning of the drivers' errors, and the forms in which
// values are stored: times are unix milliseconds, with 0 for the zero time,
// booleans are 0 and 1, and documents are JSON text.
//
// It is the only package that imports the SQL drivers. It has no statements of
// its own: package store owns them.
package db
