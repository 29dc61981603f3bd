// Package recount computes the table of a league again from its exported lines
// (docs/data.md): places from points, every settlement from the answers, the live
// ratings from the settlements, and the refit with its ranks. It names the first
// line that differs.
//
// It owns the comparison and what it reads of each line. It leaves the rules to
// scoring, signed records to record, writing the lines to api, and files to its
// caller. It holds the lines of one match at a time, and 16 bytes for each rated seat.
package recount
