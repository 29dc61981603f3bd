package scoring

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/agora-arena/arena/arena"
)

// questions is a league of agents that know a share of all questions.
type questions struct {
	r      *rand.Rand
	knows  []float64
	rounds int
	e      arena.Evidence
	met    []int // matches by agent
}

func newQuestions(seed uint64, rounds, agents int, knows float64) *questions {
	q := &questions{r: rand.New(rand.NewPCG(seed, 2)), rounds: rounds, met: make([]int, agents)}
	for range agents {
		q.knows = append(q.knows, knows)
	}
	return q
}

// duel plays a rated match, in which b knows the share of the questions that it
// chooses to.
func (q *questions) duel(a, b int, knows float64) {
	match := fmt.Sprintf("m_%06d", q.e.Matches)
	q.e.Matches++
	var right [2]int
	for round := range q.rounds {
		for i, p := range []float64{q.knows[a], knows} {
			points := arena.Points(0)
			if q.r.Float64() < p {
				points = arena.OnePoint
				right[i]++
			}
			agent := id([]int{a, b}[i])
			q.e.Answers = append(q.e.Answers, arena.GivenAnswer{
				MatchID: match, Round: round, AgentID: agent, OwnerID: "ow_" + agent, Source: fmt.Sprint("pk_1/", q.r.IntN(500)), Points: points, Text: fmt.Sprint(q.r.IntN(1e6)),
			})
		}
	}
	seats := []arena.RatedSeat{{AgentID: id(a), OwnerID: "ow_" + id(a), Place: 1}, {AgentID: id(b), OwnerID: "ow_" + id(b), Place: 1}}
	if right[0] < right[1] {
		seats[0].Place = 2
	} else if right[1] < right[0] {
		seats[1].Place = 2
	}
	q.e.Duels = append(q.e.Duels, arena.RatedResult{Seq: int64(q.e.Matches), MatchID: match, At: time.Unix(int64(q.e.Matches), 0), Seats: seats})
	q.met[a]++
	q.met[b]++
}

// night lets all agents play once against someone at random.
func (q *questions) night(duel func(a, b int)) {
	order := q.r.Perm(len(q.knows))
	for ; len(order) > 1; order = order[2:] {
		duel(min(order[0], order[1]), max(order[0], order[1]))
	}
}

// Threat G6: agent 0, which knows less than all others, receives from a ring that
// plays honestly against everyone else. It is found within 40 of its matches, with
// nobody else.
func TestAnomalies_concededRings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ring, agents, rounds int
		meet                 int // every so many nights the ring meets on purpose; 0: never
	}{
		{ring: 10, agents: 15, rounds: 3},
		{ring: 10, agents: 15, rounds: 10},
		{ring: 5, agents: 200, rounds: 5, meet: 2},
	} {
		for seed := range uint64(3) {
			q := newQuestions(seed, c.rounds, c.agents, 0.7)
			q.knows[0] = 0.6
			play := func(a, b int) {
				if knows := q.knows[b]; a != 0 || b >= c.ring {
					q.duel(a, b, knows)
				} else {
					q.duel(a, b, 0.1) // it loses on purpose
				}
			}
			for night := 1; q.met[0] < 40; night++ {
				q.night(play)
				if c.meet > 0 && night%c.meet == 0 {
					play(0, 1+night/c.meet%(c.ring-1))
				}
			}
			r, err := Anomalies(q.e)
			if err != nil {
				t.Fatal(err)
			}
			fed := slices.DeleteFunc(r.Found, func(a arena.Anomaly) bool { return a.Kind != arena.AnomalyFed })
			if len(fed) != 1 || fed[0].AgentIDs[0] != id(0) {
				t.Fatalf("%+v, league %d: found %+v, want the receiver alone", c, seed, fed)
			}
			named, members := fed[0].AgentIDs[1:], 0
			for giver := 1; giver < c.ring; giver++ {
				if slices.Contains(named, id(giver)) {
					members++
				}
			}
			if members < 2 || members < len(named)-1 { // an honest one may have had a bad day
				t.Errorf("%+v, league %d: %v are named", c, seed, named)
			}
		}
	}
}

// Threat G6: no honest league is reported, whatever its agents know.
func TestAnomalies_concededHonest(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		q := newQuestions(seed, 1+int(seed%7), 5+int(seed%30), 0)
		for i := range q.knows {
			q.knows[i] = q.r.Float64()
		}
		for range 40 {
			q.night(func(a, b int) { q.duel(a, b, q.knows[b]) })
		}
		if found := conceded(q.e); len(found) > 0 {
			t.Errorf("league %d: %+v", seed, found)
		}
	}
}

// Where answers are compared, points depend on the opponent: who beats all others is
// not fed.
func TestAnomalies_concededCompared(t *testing.T) {
	t.Parallel()
	q := newQuestions(1, 10, 12, 0.5)
	q.e.Compared = true
	for range 40 {
		q.night(func(a, b int) {
			knows := q.knows[b]
			if a == 0 {
				knows = 0.1
			}
			q.duel(a, b, knows)
		})
	}
	compared, err := Anomalies(q.e)
	q.e.Compared = false
	counted, err2 := Anomalies(q.e)
	if err != nil || err2 != nil || len(compared.Found) != 0 || len(counted.Found) != 1 {
		t.Errorf("%+v and %+v, want one receiver where right answers are counted (%v, %v)", compared.Found, counted.Found, err, err2)
	}
}
