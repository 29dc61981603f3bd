// Package base has what every group of rows needs: reads from connections that
// cannot write, writes through the queue of group commit, owners that a change locks,
// the removal of rows that have expired, audit entries, and errors
// with the codes of the domain. Package store makes one Base and hands it to the packages
// of its groups.
package base
