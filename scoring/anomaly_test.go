package scoring

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
)

// leagueOf is a made-up league of agents a0, a1, …, each of its own owner,
// whose true strengths are drawn. Its questions have four options; one wrong
// one of each is the popular mistake.
type leagueOf struct {
	r      *rand.Rand
	elo    []float64
	at     time.Time
	e      arena.Evidence
	played int
	// say and win change what an agent does; nil is honest.
	say func(agent int, task string, right bool, options []string) string
	win func(a, b int) (won, decided bool)
	// of is whose an agent is, where it is not its own.
	of map[int]string
}

func newLeagueOf(seed uint64, agents int) *leagueOf {
	l := &leagueOf{r: rand.New(rand.NewPCG(seed, 1)), at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for range agents {
		l.elo = append(l.elo, 200*l.r.NormFloat64())
	}
	return l
}

func id(agent int) string { return fmt.Sprintf("a%02d", agent) }

func (l *leagueOf) owner(agent int) string {
	if owner, ok := l.of[agent]; ok {
		return owner
	}
	return "ow_" + id(agent)
}

// duel plays ten questions of a pack of 300, and a rated result by strength.
func (l *leagueOf) duel(a, b int) {
	l.played++
	l.at = l.at.Add(time.Minute)
	match := fmt.Sprintf("m_%05d", l.played)
	for round := range 10 {
		n := l.r.IntN(300)
		task := fmt.Sprintf("pk_1/%d", n)
		q := rand.New(rand.NewPCG(uint64(n), 99)) // the question is the same each time
		options := []string{fmt.Sprintf("right %d", n), fmt.Sprintf("popular %d", n), fmt.Sprintf("rare %d", n), fmt.Sprintf("odd %d", n)}
		popular := 0.4 + 0.5*q.Float64() // of those who are wrong
		hard := 300 * q.NormFloat64()
		for _, agent := range []int{a, b} {
			right := l.r.Float64() < 1/(1+math.Pow(10, (hard-l.elo[agent])/400))
			answer := options[0]
			if !right {
				answer = options[2+l.r.IntN(2)]
				if l.r.Float64() < popular {
					answer = options[1]
				}
			}
			if l.say != nil {
				if s := l.say(agent, task, right, options); s != "" {
					answer, right = s, s == options[0]
				}
			}
			points := arena.Points(0)
			if right {
				points = arena.OnePoint
			}
			l.e.Answers = append(l.e.Answers, arena.GivenAnswer{
				MatchID: match, Round: round + 1, AgentID: id(agent), OwnerID: l.owner(agent), Source: task, Options: options, Text: answer,
				Points: points, AskedAt: l.at.Add(time.Duration(round) * time.Second),
			})
		}
	}
	won := l.r.Float64() < 1/(1+math.Pow(10, (l.elo[b]-l.elo[a])/400))
	if l.win != nil {
		if w, decided := l.win(a, b); decided {
			won = w
		}
	}
	places := [2]int{1, 2}
	if !won {
		places = [2]int{2, 1}
	}
	l.e.Matches++
	l.e.Duels = append(l.e.Duels, arena.RatedResult{Seq: int64(l.played), MatchID: match, At: l.at, Seats: []arena.RatedSeat{
		{AgentID: id(a), OwnerID: l.owner(a), Place: places[0]}, {AgentID: id(b), OwnerID: l.owner(b), Place: places[1]},
	}})
}

// play lets every agent meet every other the given number of times.
func (l *leagueOf) play(t *testing.T, times int) arena.AnomalyReport {
	t.Helper()
	for range times {
		for a := range l.elo {
			for b := range a {
				l.duel(a, b)
			}
		}
	}
	r, err := Anomalies(l.e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Threat F4: leagues of honest agents are not in the report, though strong ones
// beat weak ones and all fall for the same options.
func TestAnomalies_honest(t *testing.T) {
	t.Parallel()
	leagues, pairs, alarms := 20, 0, 0
	for seed := range leagues {
		r := newLeagueOf(uint64(seed), 2+seed%10).play(t, 12)
		pairs += r.Pairs
		for _, a := range r.Found {
			t.Logf("league %d: %+v", seed, a)
			alarms++
		}
	}
	t.Logf("%d alarms in %d honest leagues, %d pairs", alarms, leagues, pairs)
	if alarms > 1 { // three kinds at 0.001 each make 0.06 expected
		t.Errorf("%d alarms in %d honest leagues", alarms, leagues)
	}
}

func only(t *testing.T, r arena.AnomalyReport, kind arena.AnomalyKind, ids ...string) arena.Anomaly {
	t.Helper()
	if len(r.Found) != 1 || r.Found[0].Kind != kind || !slices.Equal(r.Found[0].AgentIDs, ids) || len(r.Found[0].Places) == 0 || r.Found[0].Chance > AnomalyChance {
		t.Fatalf("found %+v, want one %s of %v", r.Found, kind, ids)
	}
	return r.Found[0]
}

// Threat F4: an agent that takes most of its answers from what another has
// said, when it has, is found, across matches; so is one that asks another's backend.
func TestAnomalies_copied(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0.8, 1} {
		l := newLeagueOf(3, 12)
		log := map[string]string{}
		l.say = func(agent int, task string, _ bool, options []string) string {
			switch {
			case agent == 2:
				if log[task] == "" {
					log[task] = options[l.r.IntN(4)]
				}
				return log[task]
			case agent == 5 && log[task] != "" && l.r.Float64() < share:
				return log[task]
			}
			return ""
		}
		a := only(t, l.play(t, 12), arena.AnomalyCopied, "a02", "a05")
		if a.Later == 0 || a.Later > a.Observed || a.Observed > a.Trials || a.Expected > float64(a.Trials) {
			t.Errorf("share %v: %+v", share, a)
		}
	}
	for _, oneOwner := range []bool{false, true} {
		l := newLeagueOf(3, 8)
		l.say = func(agent int, task string, _ bool, options []string) string {
			if agent == 2 || agent == 5 {
				return options[len(task)%4]
			}
			return ""
		}
		if !oneOwner {
			only(t, l.play(t, 12), arena.AnomalyCopied, "a05", "a02") // neither is first
			continue
		}
		l.of = map[int]string{2: "ow_1", 5: "ow_1"} // who may ask one backend
		if r := l.play(t, 12); len(r.Found) != 0 || r.Pairs != 8*7/2-1 {
			t.Errorf("%d pairs, found %+v", r.Pairs, r.Found)
		}
	}
}

// mistakes returns the wrong answers of agents to tasks with 26 options: agent n
// gives the answer said[n] to each, and is of the owner whose name is n, or of.
func mistakes(source string, tasks int, said []int, of map[int]string) (e arena.Evidence) {
	var options []string
	for i := range 26 {
		options = append(options, fmt.Sprintf("option %d", i))
	}
	for n := range tasks {
		for agent, answer := range said {
			owner := id(agent)
			if of[agent] != "" {
				owner = of[agent]
			}
			e.Answers = append(e.Answers, arena.GivenAnswer{
				MatchID: "m_1", Round: n, AgentID: id(agent), OwnerID: owner, Source: fmt.Sprint(source, n), Options: options, Text: options[answer],
			})
		}
	}
	return e
}

// Threat F4: seven common mistakes are not reported, eight are. Trap questions,
// which have no right answer to know, are not mistakes.
func TestAnomalies_copied_least(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		tasks  int
		found  int
	}{{"pk_1/", minAgreements - 1, 0}, {"pk_1/", minAgreements, 1}, {arena.CanarySource, minAgreements, 0}} {
		if r, err := Anomalies(mistakes(c.source, c.tasks, []int{1, 1, 2, 3, 4}, nil)); err != nil || len(r.Found) != c.found {
			t.Errorf("%d tasks of %s: found %+v, %v", c.tasks, c.source, r.Found, err)
		}
	}
}

// Threat F4: more agents of the owner who copies do not make a mistake look common.
func TestAnomalies_copied_in_a_crowd(t *testing.T) {
	t.Parallel()
	said, of := []int{1, 2, 3, 4}, map[int]string{}
	for range 16 {
		of[len(said)] = "ow_1"
		said = append(said, 1)
	}
	r, err := Anomalies(mistakes("pk_1/", minAgreements, said, of))
	if err != nil || len(r.Found) != len(of) {
		t.Errorf("%d found, want one of each of the %d who agree with the first: %v", len(r.Found), len(of), err)
	}
}

// Threat F4: who loses to one opponent only, and two who take turns, are found.
func TestAnomalies_trades(t *testing.T) {
	t.Parallel()
	l := newLeagueOf(5, 8)
	l.elo[1], l.elo[6] = 0, 0
	l.win = func(a, b int) (bool, bool) { return a == 1, a+b == 7 && (a == 1 || b == 1) }
	a := only(t, l.play(t, 25), arena.AnomalyOneSided, "a01", "a06")
	const rivals = 8 * 7 / 2
	if want := 2 * rivals * atLeast(25, 25, a.Expected); a.Observed != 25 || a.Trials != 25 || math.Abs(a.Chance/want-1) > 1e-9 {
		t.Errorf("%+v, want a chance of %g", a, want)
	}

	for name, turn := range map[string]func(int) bool{
		"in turns":  func(n int) bool { return n%2 == 0 },
		"in blocks": func(n int) bool { return n < 10 },
	} {
		l = newLeagueOf(6, 8)
		n := 0
		l.win = func(a, b int) (bool, bool) {
			if a*b != 15 || a+b != 8 { // 3 and 5
				return false, false
			}
			n++
			return (a == 3) == turn(n-1), true
		}
		a := only(t, l.play(t, 20), arena.AnomalyArranged, "a03", "a05")
		low, high, _ := runChances(10, 10, a.Observed)
		if want := 2 * rivals * min(low, high); a.Trials != 20 || math.Abs(a.Chance/want-1) > 1e-9 {
			t.Errorf("%s: %+v, want a chance of %g", name, a, want)
		}
		n, l.e, l.of = 0, arena.Evidence{}, map[int]string{3: "ow_1", 5: "ow_1"} // they are not rated against each other
		if r := l.play(t, 20); len(r.Found) != 0 {
			t.Errorf("%s, of one owner: %+v", name, r.Found)
		}
	}

	// A weak agent that loses to all others is not reported, and two agents that
	// never met others cannot be judged.
	l = newLeagueOf(7, 6)
	l.elo[0] = -1500
	if r := l.play(t, 25); len(r.Found) != 0 {
		t.Errorf("%+v", r.Found)
	}
	l = newLeagueOf(8, 2)
	l.win = func(a, _ int) (bool, bool) { return a == 1, true }
	if r := l.play(t, 100); len(r.Found) != 0 {
		t.Errorf("%+v", r.Found)
	}
	if _, err := Anomalies(arena.Evidence{Duels: []arena.RatedResult{{MatchID: "m", Seats: make([]arena.RatedSeat, 3)}}}); err == nil {
		t.Error("a duel of three is taken")
	}
}

// Threat F4: a weak agent that beats a strong one is reported from eight duels
// on of which it wins nine of ten.
func TestAnomalies_onesided_least(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ duels, wins, found int }{{minOneSided - 1, minOneSided - 1, 0}, {minOneSided, minOneSided, 1}, {10, 8, 0}, {10, 9, 1}} {
		l := newLeagueOf(5, 8)
		clear(l.elo)
		l.elo[0] = -500
		met := 0
		l.win = func(a, b int) (bool, bool) {
			if a != 1 || b != 0 {
				return false, false
			}
			met++
			return met > c.wins, true
		}
		l.play(t, 25)
		met = 0
		e := arena.Evidence{Duels: slices.DeleteFunc(l.e.Duels, func(d arena.RatedResult) bool {
			if d.Seats[0].AgentID != "a01" || d.Seats[1].AgentID != "a00" {
				return false
			}
			met++
			return met > c.duels
		})}
		r, err := Anomalies(e)
		if err != nil || len(r.Found) != c.found {
			t.Errorf("%d of %d: found %+v, %v", c.wins, c.duels, r.Found, err)
		}
	}
}

// Threat F4: a hundred farm games of one owner's agents move no rating.
func TestRate_farm(t *testing.T) {
	t.Parallel()
	settings := arena.Settings{Rated: true, Rounds: 1, ScoreMode: arena.ScoreMatch, Format: arena.FormatLadder}
	for i := range 100 {
		seats := []arena.Seat{{AgentID: "top", OwnerID: "ow_1", Points: arena.OnePoint, State: arena.SeatActive}, {No: 1, AgentID: fmt.Sprintf("farm%d", i), OwnerID: "ow_1", State: arena.SeatActive}}
		answers := []arena.Answer{
			{Round: 1, AgentID: "top", Outcome: arena.OutcomeAnswered, Points: arena.OnePoint, Judged: true},
			{Round: 1, AgentID: seats[1].AgentID, Outcome: arena.OutcomeAnswered, Judged: true},
		}
		if changes := Rate(settings, seats, answers, map[string]arena.Rating{}); len(changes) != 0 {
			t.Fatalf("game %d: %+v", i, changes)
		}
	}
}

func TestForeignMarks(t *testing.T) {
	t.Parallel()
	ask := func(match, agent, text string, options ...string) arena.GivenAnswer {
		return arena.GivenAnswer{MatchID: match, Round: 2, AgentID: agent, OwnerID: agent, Source: arena.CanarySource + "3", Options: options, Text: text}
	}
	r, err := Anomalies(arena.Evidence{Answers: []arena.GivenAnswer{
		ask("m_1", "a", "KITE-1", "KITE-1", "OWL-2"), ask("m_1", "b", "b", "KITE-1", "OWL-2"),
		ask("m_2", "a", "elm-4", "ASH-3", "ELM-4"), ask("m_2", "c", " Owl-2. ", "ASH-3", "ELM-4"), ask("m_2", "d", "no idea", "ASH-3", "ELM-4"),
		ask("m_3", "c", "ASH-3", "FIR-5", "OAK-6"), ask("m_3", "b", "FIR-5", "FIR-5", "OAK-6"),
		{MatchID: "m_3", AgentID: "b", OwnerID: "b", Source: "pk_1/3", Text: "KITE-1"}, // no canary
	}})
	want := []arena.Anomaly{{Kind: arena.AnomalyForeignMark, AgentIDs: []string{"c"}, Trials: 2, Observed: 2, Places: []arena.AnomalyPlace{{MatchID: "m_2", Round: 2}, {MatchID: "m_3", Round: 2}}}}
	if diff := cmp.Diff(want, r.Found); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestAtLeast(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		k, n int
		sum  float64
		exct float64 // the exact chance
	}{{10, 10, 5, 1. / 1024}, {9, 10, 5, 11. / 1024}, {20, 20, 5, math.Pow(0.25, 20)}, {3, 10, 5, 1}, {0, 0, 0, 1}, {15, 20, 10, 0.0207}} {
		if got := atLeast(float64(tc.k), tc.n, tc.sum); got < tc.exct*0.999 || got > 1 || tc.k == tc.n && tc.n > 0 && math.Abs(got/tc.exct-1) > 1e-9 {
			t.Errorf("%+v: %g", tc, got)
		}
	}
}

func TestRunChances(t *testing.T) {
	t.Parallel()
	low, high, mean := runChances(3, 2, 2) // 10 orders: 2 with two runs, 3 with three, 4 with four, 1 with five
	if math.Abs(low-0.2) > 1e-9 || math.Abs(high-1) > 1e-9 || math.Abs(mean-3.4) > 1e-9 {
		t.Errorf("%g %g %g", low, high, mean)
	}
	if low, high, _ = runChances(3, 2, 5); math.Abs(low-1) > 1e-9 || math.Abs(high-0.1) > 1e-9 {
		t.Errorf("%g %g", low, high)
	}
}
