package api

import (
	"testing"
	"testing/synctest"

	"github.com/agora-arena/arena/arena"
)

// Threat V7: of the routes that no page bounds two run at once, however many
// different things are asked for, and meanwhile all others answer.
func TestAPI_dearRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const asked = 10
		running, finish := make(chan int, asked), make(chan struct{})
		w := newWorld(t, func(o *parts) {
			o.SeasonCard = func(s arena.Season, _ string, _ map[string]string) ([]byte, error) {
				running <- s.No
				<-finish
				return []byte("picture"), nil
			}
		})
		w.do("POST", "/v1/leagues", w.admin, object{"slug": "cup", "title": "Cup", "game": object{"name": "connect_four"}, "time_limit_seconds": 5, "rated": false}).is(201)
		season, err := w.store.Leagues.StartSeason(t.Context(), arena.Season{ID: "se_1", League: "cup", Format: arena.FormatSwiss, StartedAt: testNow})
		w.ok(err)
		got := make(chan int, asked)
		for range asked {
			go func() {
				got <- w.do("GET", "/v1/leagues/cup/seasons/1/card.png", "", nil).status
			}()
		}
		synctest.Wait()
		if n := len(running); n != dearAtOnce {
			t.Errorf("%d cards of season %d are drawn at once, want %d", n, season.No, dearAtOnce)
		}
		w.do("GET", "/v1/lobby", "", nil).is(200)
		w.do("GET", "/v1/leagues/cup", "", nil).is(200)
		close(finish)
		for range asked {
			if status := <-got; status != 200 {
				t.Errorf("status %d", status)
			}
		}
	})
}
