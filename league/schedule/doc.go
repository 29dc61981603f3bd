// Package schedule reads the cron expressions that leagues and backups run by.
//
// It is pure: callers pass the current time. They decide what an occurrence
// starts, and which of them have passed.
package schedule
