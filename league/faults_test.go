package league_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league"
)

func TestFaults_pausesTheLeague(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	faults := league.NewFaults(o.store.Leagues, func() time.Time { return noon })
	for slug, tt := range map[string]struct{ before, after arena.LeagueStatus }{
		"a": {arena.LeagueOpen, arena.LeagueOpen}, "b": {arena.LeagueRunning, arena.LeaguePaused},
		"c": {arena.LeagueFrozen, arena.LeaguePaused}, "d": {arena.LeaguePaused, arena.LeaguePaused},
	} {
		o.ok(o.store.Leagues.CreateLeague(t.Context(), sums(func(l *arena.League) { l.Slug, l.Status = slug, tt.before })))
		o.ok(faults.GameFailed(t.Context(), slug, "m_1", errors.New("nim.js:3:7: "+strings.Repeat("x\n", 1000))))
		l, err := o.store.Leagues.League(t.Context(), slug)
		o.ok(err)
		if l.Status != tt.after || !strings.Contains(l.Note.String(), "in match m_1: nim.js:3:7") || len(l.Note.String()) > 400 || strings.Contains(l.Note.String(), "\n") {
			t.Errorf("%s: the league is %s: %s", tt.before, l.Status, l.Note)
		}
	}
}
