package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/protocol/protocoltest"
	"github.com/agora-arena/arena/store"
)

// moment is what a match is doing when its arena is killed.
type moment int

const (
	asked    moment = iota // a request is with an agent
	answered               // the reply of the first seat is stored, the second one is still asked
	racing                 // it plays: the kill hits any of the writes of the next rounds
)

// raced is how many rounds a racing match may play until it waits for the kill.
const raced = 4

// killedGames are the games of an arena and what a match of each is doing when
// it is killed. A match is two games.
var killedGames = []struct {
	game    string
	options map[string]int
	at      moment
}{
	{"chess", map[string]int{"max_moves": 10}, racing},
	{"colonel_blotto", map[string]int{"battlefields": 7, "troops": 100}, answered},
	{"connect_four", nil, asked},
	{"iterated_prisoners_dilemma", map[string]int{"rounds": 7}, answered},
	{"kuhn_poker", map[string]int{"hands": 5}, racing},
	{"liars_dice", map[string]int{"dice": 3}, asked},
	{"negotiation", map[string]int{"turns": 8}, racing},
	{"tic_tac_toe", nil, racing},
}

// pick returns a number below n that follows from a seat and what it is asked.
func pick(seat string, observation []byte, n int) int {
	h := fnv.New64a()
	_, _ = h.Write(append([]byte(seat), observation...)) // a hash returns no error
	return int(h.Sum64() >> 1 % uint64(n))
}

// decide returns the move of a seat, which follows from its request alone: not
// from the time, the match, the attempt or what the agent saw before.
func decide(seat string, r protocoltest.Request) string {
	var body struct {
		Task struct {
			Observation json.RawMessage `json:"observation"`
		} `json:"task"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return err.Error() // no legal move: the test finds it
	}
	if n := len(r.Task.Task.Options); n > 0 {
		return r.Task.Task.Options[pick(seat, body.Task.Observation, n)]
	}
	var position struct {
		Troops       int
		Battlefields int
		Turn         int
		Items        map[string]int
		Offer        map[string]int
	}
	if err := json.Unmarshal(body.Task.Observation, &position); err != nil {
		return err.Error()
	}
	switch {
	case position.Battlefields > 0: // one field gets what the others lack
		army := make([]string, position.Battlefields)
		for i := range army {
			army[i] = "10"
		}
		army[pick(seat, body.Task.Observation, len(army))] = fmt.Sprint(position.Troops - 10*(len(army)-1))
		return strings.Join(army, ",")
	case position.Offer != nil && position.Turn > 6:
		return `{"accept":true}`
	default:
		n := pick(seat, body.Task.Observation, position.Items["books"]+1)
		return fmt.Sprintf(`{"say":"Turn %d","offer":{"books":%d,"hats":1,"balls":0}}`, position.Turn, n)
	}
}

// twins are two matches of one game with the same agents and the same seed. The
// arena is killed while it plays the second one.
type twins struct {
	name          string
	whole, killed string // ids
	at            moment
	played        chan struct{} // closed when the whole match is over
	round         int           // the killed match is killed in it; set when played is closed
	held          chan struct{} // closed when the killed match is in its round
	hold          func()        // closes held
}

// The leagues of the two matches of a game; agents know the killed one by it.
const (
	wholeLeague  = "whole-"
	killedLeague = "killed-"
)

// gates are closed when agents may reply again: those of racing matches when all
// matches are in their rounds, all others after the kill.
type gates struct{ race, restart chan struct{} }

// twins makes the leagues, the agents and the two matches of killedGames[i]. The
// agents of the killed match keep their replies until the other one is over, and
// in its round.
func (p *process) twins(i int, gates gates) *twins {
	p.t.Helper()
	g := killedGames[i]
	w := &twins{name: g.game, at: g.at, played: make(chan struct{}), held: make(chan struct{})}
	w.hold = sync.OnceFunc(func() { close(w.held) })
	whole, killed := wholeLeague+strings.ReplaceAll(g.game, "_", "-"), killedLeague+strings.ReplaceAll(g.game, "_", "-")
	for _, slug := range []string{whole, killed} {
		options := map[string]any{"name": g.game, "games_per_match": 2}
		for name, value := range g.options {
			options[name] = value
		}
		p.call(p.admin, http.MethodPost, "/v1/leagues", map[string]any{
			"slug": slug, "title": slug, "game": options, "visibility": "sealed",
			"time_limit_seconds": 120, "rated": true, "format": "ladder", "min_seats": 2, "max_seats": 2,
		}, nil)
	}
	player := func(seat string) *contestant {
		return p.contestant(seat+" of "+g.game, func(r protocoltest.Request) protocoltest.Behaviour {
			reply := protocoltest.Answer(decide(seat, r))
			if r.Task.League != killed {
				return reply
			}
			if r.Task.Round == 1 {
				return protocoltest.When(w.played, reply)
			}
			switch late := r.Task.Round - w.round; {
			case late < 0 || g.at == answered && seat == "Ada":
				return reply
			case g.at == racing && late < raced:
				w.hold()
				return protocoltest.When(gates.race, reply)
			default:
				w.hold()
				return protocoltest.When(gates.restart, reply)
			}
		}, whole, killed)
	}
	ada, bob := player("Ada"), player("Bob")
	w.whole, w.killed = p.schedule(whole, ada, bob), p.schedule(killed, ada, bob)
	return w
}

// reached waits until the match is where it is to be killed: past the half of
// the match that is not interrupted, so in the middle of its second game. How
// many rounds a game has depends on the ids of the agents.
func (w *twins) reached(ctx context.Context, p *process) {
	p.t.Helper()
	whole, rounds := p.watch(w.whole, 0), 0
	whole.end(nil)
	for _, e := range whole.seen {
		rounds = max(rounds, e.Round)
	}
	w.round = max(2, rounds*5/8)
	close(w.played)
	select {
	case <-w.held:
	case <-ctx.Done():
		p.t.Fatalf("%s: nobody was asked in round %d", w.name, w.round)
	}
	if w.at == answered {
		p.watch(w.killed, 0).until(func(e event) bool { return e.Type == "seat_outcome" && e.Round == w.round })
	}
}

// remains is what the database has of a match.
type remains struct {
	Match   arena.Match
	Log     []arena.Event
	Answers []arena.Answer
}

func remainsOf(t *testing.T, s *store.Store, id string) (r remains) {
	t.Helper()
	var err error
	r.Match, err = s.Matches.Match(t.Context(), id)
	must(t, err)
	r.Log, err = s.Matches.EventsAfter(t.Context(), id, 0, 10_000)
	must(t, err)
	r.Answers, err = s.Matches.Answers(t.Context(), id)
	must(t, err)
	return r
}

// moved is a round as the two matches must have it in common.
type moved struct {
	Round   int
	Answers []string // agent, outcome, reason and answer
	State   json.RawMessage
	Moves   json.RawMessage
}

// course returns the rounds of a match that is over, its seats and its result.
func (r remains) course(t *testing.T) (rounds []moved, result []string) {
	t.Helper()
	texts := map[int][]string{}
	for _, a := range r.Answers {
		text := "–"
		if a.Body != nil {
			text = a.Body.Answer
		}
		texts[a.Round] = append(texts[a.Round], fmt.Sprintf("%s %s %s: %s", a.AgentID, a.Outcome, a.Reason, text))
	}
	for _, e := range r.Log {
		if e.Type != arena.EventRoundClosed {
			continue
		}
		var body struct{ Moves, State json.RawMessage }
		must(t, json.Unmarshal(e.Body, &body))
		rounds = append(rounds, moved{Round: e.Round, Answers: texts[e.Round], State: body.State, Moves: body.Moves})
	}
	result = append(result, string(r.Match.Status), r.Match.VoidReason.String(), fmt.Sprint(r.Match.Seed))
	for _, s := range r.Match.Seats {
		result = append(result, fmt.Sprintf("%s: %s, %v points, place %d", s.AgentID, s.State, s.Points, s.Place))
	}
	return rounds, result
}

// kept checks that what a match had before its arena was killed is unchanged:
// no event and no answer is lost, written again or decided again.
func (r remains) kept(t *testing.T, after remains) {
	t.Helper()
	if len(after.Log) <= len(r.Log) {
		t.Fatalf("%d events before the kill, %d at the end", len(r.Log), len(after.Log))
	}
	closed := 0
	for i, e := range r.Log {
		if d := cmp.Diff(e, after.Log[i]); d != "" {
			t.Errorf("event %d has changed (-before +after):\n%s", e.Seq, d)
		}
		if e.Type == arena.EventRoundClosed {
			closed = e.Round
		}
	}
	if closed == 0 {
		t.Error("no round was closed before the kill")
	}
	type key struct {
		round int
		agent string
	}
	now := map[key]arena.Answer{}
	for _, a := range after.Answers {
		now[key{a.Round, a.AgentID}] = a
	}
	for _, a := range r.Answers {
		got := now[key{a.Round, a.AgentID}]
		if a.Round > closed { // its points were not decided
			got.Points, got.Judged = a.Points, a.Judged
		}
		if d := cmp.Diff(a, got); d != "" {
			t.Errorf("an answer of round %d has changed (-before +after):\n%s", a.Round, d)
		}
	}
}

// A match of each game is killed with its arena, by SIGKILL, in the middle of a
// game. It has the same moves, positions and points as a match with the same seed
// and agents that was not interrupted. Threats C1, C5.
func TestE2E_KilledGames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, dir)
	var list struct{ Items []struct{ Name string } }
	p.call(p.admin, http.MethodGet, "/v1/games", nil, &list)
	if len(list.Items) != len(killedGames) {
		t.Errorf("the arena has %d games, %d are tested", len(list.Items), len(killedGames))
	}
	// A node that drains creates matches and does not start them, so that both
	// matches of a game can be given one seed.
	p.call(p.admin, http.MethodPost, "/v1/admin/drain", nil, nil)
	open := gates{race: make(chan struct{}), restart: make(chan struct{})}
	var all []*twins
	for i := range killedGames {
		all = append(all, p.twins(i, open))
	}
	p.stop()
	db, err := sql.Open("sqlite", filepath.Join(dir, "arena.db"))
	must(t, err)
	for i, w := range all {
		changed, err := db.ExecContext(t.Context(), `UPDATE matches SET seed = $1 WHERE id IN ($2, $3) AND status = 'scheduled'`, 4711+i, w.whole, w.killed)
		must(t, err)
		if n, err := changed.RowsAffected(); err != nil || n != 2 {
			t.Fatalf("%s: %d matches have the seed, %v", w.name, n, err)
		}
	}
	must(t, db.Close())

	p = serve(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, w := range all {
		w.reached(ctx, p)
	}
	chess := p.watch(all[0].killed, 0)
	close(open.race)
	chess.until(func(e event) bool { return e.Type == "round_closed" && e.Round == all[0].round })
	p.kill()
	close(open.restart)

	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "arena.db"), store.Options{Logger: discard(), Now: time.Now})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	before := make([]remains, len(all))
	for i, w := range all {
		before[i] = remainsOf(t, s, w.killed)
	}
	p = serve(t, dir)
	keys := filepath.Join(dir, "keys.json")
	save(t, p.url+"/.well-known/jwks.json", keys)
	for i, w := range all {
		spectator := p.watch(w.killed, 0)
		spectator.end(nil)
		whole, killed := remainsOf(t, s, w.whole), remainsOf(t, s, w.killed)
		record := filepath.Join(dir, w.name+".json")
		save(t, p.url+"/v1/matches/"+w.killed+"/record", record)
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.check(t, before[i], whole, killed)
			if code, out, errs := call(t, "verify", record, "--jwks", keys); code != exitOK || !strings.Contains(out, "played all games again") {
				t.Errorf("verify: exit code %d, %q, %q", code, out, errs)
			}
		})
	}
}

// check compares the match that was killed with itself before the kill, and with
// the one that was not interrupted.
func (w *twins) check(t *testing.T, before, whole, killed remains) {
	t.Helper()
	if before.Match.Status != arena.MatchRunning || killed.Match.Lease.Epoch <= before.Match.Lease.Epoch {
		t.Errorf("the match was %s when it was killed; its lease was %d and is %d", before.Match.Status, before.Match.Lease.Epoch, killed.Match.Lease.Epoch)
	}
	before.kept(t, killed)
	wantRounds, want := whole.course(t)
	gotRounds, got := killed.course(t)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the result differs (-whole +killed):\n%s", d)
	}
	if d := cmp.Diff(wantRounds, gotRounds); d != "" {
		t.Errorf("the rounds differ (-whole +killed):\n%s", d)
	}
	for _, a := range whole.Answers {
		if a.Outcome != arena.OutcomeAnswered || a.Reason != "" {
			t.Errorf("round %d is %s %s: the agents are to make legal moves", a.Round, a.Outcome, a.Reason)
		}
	}
	t.Logf("killed in round %d of %d, at event %d of %d", before.Match.Round, len(wantRounds), len(before.Log), len(killed.Log))
}
