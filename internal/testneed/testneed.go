package testneed

import (
	"os"
	"slices"
	"strings"
)

// Required reports whether the comma list ARENA_TEST_REQUIRE names thing: then a
// test that cannot run without it fails instead of being skipped.
func Required(thing string) bool {
	return slices.Contains(strings.Split(os.Getenv("ARENA_TEST_REQUIRE"), ","), thing)
}
