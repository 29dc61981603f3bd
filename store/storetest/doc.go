// Package storetest is the one suite that every database of store passes, and
// the means to run it: a PostgreSQL server of its own, made and thrown away
// by the test run.
//
// Only tests import it.
package storetest
