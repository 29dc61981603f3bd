package web

import (
	"regexp"
	"strings"
)

// routes are the addresses of the app, as in src/lib/routes.ts.
var routes = []*regexp.Regexp{
	regexp.MustCompile(`^/$`),
	regexp.MustCompile(`^/m/([^/]+)$`),
	regexp.MustCompile(`^/matches$`),
	regexp.MustCompile(`^/schedule$`),
	regexp.MustCompile(`^/compare$`),
	regexp.MustCompile(`^/tv$`),
	regexp.MustCompile(`^/leagues$`),
	regexp.MustCompile(`^/l/([^/]+)(?:/seasons/([0-9]+))?$`),
	regexp.MustCompile(`^/leaderboard$`),
	regexp.MustCompile(`^/a/([^/]+)$`),
	regexp.MustCompile(`^/replay$`),
	regexp.MustCompile(`^/embed/matches/([^/]+)$`),
	regexp.MustCompile(`^/console(?:/(.+))?$`),
	regexp.MustCompile(`^/admin(?:/(.+))?$`),
}

// isRoute reports whether a path is one of the app's pages, with or without a
// slash at its end.
func isRoute(path string) bool {
	path = strings.TrimRight(path, "/")
	if path == "" {
		path = "/"
	}
	for _, route := range routes {
		if route.MatchString(path) {
			return true
		}
	}
	return false
}
