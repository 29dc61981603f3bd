package backup

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// nameLayout is the form of the names of backups. Names sort by time.
const nameLayout = "arena-20060102T150405Z.db" + packedEnding

// mark is part of the names of backups whose ratings differ from their settlements.
const mark = "-ratings-differ"

// ownName is the form as an expression.
func ownName() *regexp.Regexp {
	return regexp.MustCompile(`^arena-[0-9]{8}T[0-9]{6}Z(` + mark + `)?\.db\.zst$`)
}

// NameAt returns the name of a backup that was begun at a time.
func NameAt(at time.Time) string { return at.UTC().Format(nameLayout) }

// marked returns the name of a backup whose ratings differ.
func marked(name string) string {
	return strings.TrimSuffix(name, ".db"+packedEnding) + mark + ".db" + packedEnding
}

// newestFirst returns the names that have NameAt's form, the newest first.
func newestFirst(names []string) []string {
	form := ownName()
	own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !form.MatchString(name) })
	slices.Sort(own)
	slices.Reverse(own)
	return own
}

// IsFile reports whether the last part of a path names one backup rather than a
// folder or prefix of several.
func IsFile(path string) bool {
	return strings.HasSuffix(path, packedEnding) || strings.HasSuffix(path, ".db")
}

// Schedule returns the first time after another at which a backup is due.
type Schedule func(after time.Time) time.Time

// retryEvery is the most time between two attempts at a backup.
const retryEvery = time.Hour

// Due reports whether a backup is due after the last good one. Without one it is due
// at once.
func (s Schedule) Due(last, now time.Time) bool {
	next := s(last)
	return last.IsZero() || !next.IsZero() && !next.After(now)
}

// Retry returns the time between two attempts, of which the first may fail.
func (s Schedule) Retry(now time.Time) time.Duration {
	next := s(now)
	if interval := s(next).Sub(next); interval > 0 {
		return min(interval, retryEvery)
	}
	return retryEvery // it comes once
}

// Overdue reports whether two backups should have been made since the last good
// one, or none was ever made.
func (s Schedule) Overdue(last, now time.Time) bool {
	return last.IsZero() || now.After(s(s(last)))
}
