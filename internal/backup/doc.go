// Package backup makes backups of the whole arena and restores them: it names
// backups, packs and verifies them, keeps the newest ones and knows when the next
// one is due. Folders are kept here, buckets in internal/backup/s3.
//
// It leaves the copy of the rows and its verification to package store, and to
// server which database, destination and schedule the settings mean.
package backup
