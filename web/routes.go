package web

import (
	"net/url"
	"regexp"
	"strings"
)

// route is an address of the app, as in src/lib/routes.ts.
type route struct {
	pattern *regexp.Regexp
	page    string   // source of the page, unless every first load has it
	reads   []string // what the page reads first from the API; $1 is the first group of the pattern
}

var routes = []route{
	{regexp.MustCompile(`^/$`), "", []string{"/v1/lobby"}},
	{regexp.MustCompile(`^/m/([^/]+)$`), "", []string{"/v1/matches/$1"}},
	{regexp.MustCompile(`^/matches$`), "MatchesPage", []string{"/v1/leagues"}},
	{regexp.MustCompile(`^/schedule$`), "SchedulePage", []string{"/v1/leagues", "/v1/matches?status=scheduled&order=soonest&limit=40"}},
	{regexp.MustCompile(`^/compare$`), "ComparePage", []string{"/v1/leagues"}},
	{regexp.MustCompile(`^/tv$`), "TvPage", []string{"/v1/lobby"}},
	{regexp.MustCompile(`^/leagues$`), "LeaguesPage", []string{"/v1/leagues"}},
	{regexp.MustCompile(`^/l/([^/]+)(?:/seasons/([0-9]+))?$`), "LeaguePage", []string{"/v1/leagues/$1", "/v1/leagues/$1/standings", "/v1/leagues/$1/seasons"}},
	{regexp.MustCompile(`^/leaderboard$`), "LeaderboardPage", []string{"/v1/leagues"}},
	{regexp.MustCompile(`^/a/([^/]+)$`), "AgentPage", []string{"/v1/agents/$1", "/v1/agents/$1/ratings", "/v1/leagues"}},
	{regexp.MustCompile(`^/replay$`), "ReplayPage", nil},
	{regexp.MustCompile(`^/embed/matches/([^/]+)$`), "", []string{"/v1/matches/$1"}},
	{regexp.MustCompile(`^/console(?:/(.+))?$`), "ConsolePage", nil},
	{regexp.MustCompile(`^/admin(?:/(.+))?$`), "AdminPage", nil},
	{regexp.MustCompile(`^/invite/([^/]+)$`), "InvitePage", nil},
}

// routeOf returns the page of the app at a path, with or without a slash at its
// end, and the addresses of the API that the page reads first. It reports
// whether there is such a page.
func routeOf(path string) (page string, reads []string, ok bool) {
	path = strings.TrimRight(path, "/")
	if path == "" {
		path = "/"
	}
	for _, r := range routes {
		m := r.pattern.FindStringSubmatch(path)
		if m == nil {
			continue
		}
		for _, read := range r.reads {
			if len(m) > 1 {
				read = strings.ReplaceAll(read, "$1", url.PathEscape(m[1]))
			}
			reads = append(reads, read)
		}
		return r.page, reads, true
	}
	return "", nil, false
}
