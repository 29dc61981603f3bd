package migrations

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// For returns the migration files of one engine, "sqlite" or "postgres", in the
// form that goose reads.
func For(engine string) (fs.FS, error) {
	if _, err := fs.Stat(files, engine); err != nil {
		return nil, fmt.Errorf("migrations for %q: %w", engine, err)
	}
	return fs.Sub(files, engine)
}
