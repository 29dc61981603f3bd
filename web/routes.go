package web

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// route is an address of the app, as in src/lib/routes.ts.
type route struct {
	pattern *regexp.Regexp
	page    string // source of the page, unless every first load has it
	// reads are the addresses of the API that the page reads first. $1 and $2 are the groups of the
	// pattern, {league} is the league of the answer before.
	reads []string
}

var routes = []route{
	{regexp.MustCompile(`^/$`), "", []string{"/v1/lobby"}},
	{regexp.MustCompile(`^/m/([^/]+)$`), "", []string{"/v1/matches/$1", "/v1/leagues/{league}"}},
	{regexp.MustCompile(`^/matches$`), "MatchesPage", []string{"/v1/leagues"}},
	{regexp.MustCompile(`^/schedule$`), "SchedulePage", []string{"/v1/leagues", "/v1/matches?status=ready%2Cscheduled&order=soonest&limit=40"}},
	{regexp.MustCompile(`^/recap$`), "RecapPage", []string{"/v1/recap", "/v1/leagues"}},
	{regexp.MustCompile(`^/recap/([0-9]{4}-[0-9]{2}-[0-9]{2})$`), "RecapPage", []string{"/v1/recap?day=$1", "/v1/leagues"}},
	{regexp.MustCompile(`^/compare$`), "ComparePage", []string{"/v1/leagues"}},
	{regexp.MustCompile(`^/tv$`), "TvPage", []string{"/v1/lobby"}},
	{regexp.MustCompile(`^/leagues$`), "LeaguesPage", []string{"/v1/leagues"}},
	{regexp.MustCompile(`^/l/([^/]+)(?:/seasons/([0-9]+))?$`), "LeaguePage", []string{"/v1/leagues/$1", "/v1/leagues/$1/standings", "/v1/leagues/$1/seasons", "/v1/leagues/$1/seasons/$2"}},
	{regexp.MustCompile(`^/leaderboard$`), "LeaderboardPage", []string{"/v1/leagues"}},
	{regexp.MustCompile(`^/a/([^/]+)$`), "AgentPage", []string{"/v1/agents/$1", "/v1/agents/$1/ratings", "/v1/leagues"}},
	{regexp.MustCompile(`^/replay$`), "ReplayPage", nil},
	{regexp.MustCompile(`^/embed/matches/([^/]+)$`), "", []string{"/v1/matches/$1", "/v1/leagues/{league}"}},
	{regexp.MustCompile(`^/console(?:/(.+))?$`), "ConsolePage", nil},
	{regexp.MustCompile(`^/admin(?:/(.+))?$`), "AdminPage", nil},
	{regexp.MustCompile(`^/invite/([^/]+)$`), "InvitePage", nil},
}

// marksRead is the read of the avatars that owners have chosen. Pages that read
// nothing first draw those that the browser knows.
const marksRead = "/v1/marks"

// routeOf returns the page of the app at a path, with or without a slash at its
// end, and the addresses of the API that the page reads first. It reports
// whether there is such a page. What depends on a group that the path leaves out is not read.
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
			for i, group := range m[1:] {
				name := "$" + strconv.Itoa(i+1)
				if group == "" && strings.Contains(read, name) {
					read = ""
				}
				read = strings.ReplaceAll(read, name, url.PathEscape(group))
			}
			if read != "" {
				reads = append(reads, read)
			}
		}
		if reads != nil {
			reads = append(reads, marksRead)
		}
		return r.page, reads, true
	}
	return "", nil, false
}
