package game_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game"
	"github.com/agora-arena/arena/league/game/rules"
)

// sums is a game of three turns in which all players name a number at once; 0 is
// the default if there are more than two. The highest sum wins.
type sums struct{}

type sumsState struct {
	Seed uint64
	Sums []int
	Turn int
}

func (g sums) Info() rules.Info {
	return rules.Info{Name: "sums", Title: "Sums", Version: "1", MinPlayers: 2, MaxPlayers: 6, MaxTurns: 3, Deals: true}
}

func (g sums) Setup(_ context.Context, s rules.Start) (rules.State, error) {
	return json.Marshal(sumsState{Seed: s.Seed, Sums: make([]int, s.Players)})
}

func (g sums) Position(_ context.Context, st rules.State) (rules.Position, error) {
	var s sumsState
	if err := json.Unmarshal(st, &s); err != nil {
		return rules.Position{}, err
	}
	p := rules.Position{Public: fmt.Appendf(nil, `{"kind":"table","seed":%d}`, s.Seed)}
	best := 0
	for _, sum := range s.Sums {
		best = max(best, sum)
	}
	for i, sum := range s.Sums {
		if s.Turn == 3 {
			points := arena.Points(0)
			if sum == best {
				points = arena.OnePoint
			}
			p.Points = append(p.Points, points)
			continue
		}
		a := rules.ToAct{Player: i, Text: "name a number", Observation: json.RawMessage(`{"turn":1}`), Grammar: "a number"}
		if len(s.Sums) > 2 {
			a.Default = "0"
		}
		p.ToAct = append(p.ToAct, a)
	}
	return p, nil
}

func (g sums) Parse(_ context.Context, _ rules.State, _ int, text string) (string, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 9 {
		return "", rules.Illegalf("a number from 0 to 9")
	}
	return strconv.Itoa(n), nil
}

func (g sums) Move(_ context.Context, st rules.State, moves []rules.Move) (rules.State, error) {
	var s sumsState
	if err := json.Unmarshal(st, &s); err != nil {
		return nil, err
	}
	for _, m := range moves {
		n, err := strconv.Atoi(m.Move)
		if err != nil {
			return nil, err
		}
		s.Sums[m.Player] += n
	}
	s.Turn++
	return json.Marshal(s)
}

// shelf is a library with sums beside the games that are built in.
type shelf struct{ game.Builtin }

func (l shelf) Rules(ctx context.Context, spec arena.GameSpec) (rules.Rules, error) {
	if spec.Name == "sums" {
		return sums{}, nil
	}
	return l.Builtin.Rules(ctx, spec)
}

// table is a series under way. It is checked against a replay at the end.
type table struct {
	t       *testing.T
	g       game.Game
	m       arena.Match
	state   game.State
	rounds  []arena.Round
	answers []arena.Answer
	turn    arena.Turn
	closed  arena.ClosedGame
}

func newTable(t *testing.T, seats int, spec arena.GameSpec) *table {
	t.Helper()
	tb := &table{t: t, m: arena.Match{Seed: 7, Settings: arena.Settings{Game: &spec, TimeLimit: time.Second, ScoreMode: arena.ScoreResult}}}
	for i := range seats {
		tb.m.Seats = append(tb.m.Seats, arena.Seat{No: i, AgentID: fmt.Sprintf("ag_%d", i), State: arena.SeatActive})
	}
	var err error
	tb.g, err = game.For(t.Context(), shelf{}, tb.m.Settings)
	tb.ok(err)
	tb.state, err = tb.g.Init(t.Context(), game.NewPosition(tb.m, arena.Round{No: 1}, nil))
	tb.ok(err)
	tb.open()
	return tb
}

func (tb *table) ok(err error) {
	tb.t.Helper()
	if err != nil {
		tb.t.Fatal(err)
	}
}

func (tb *table) end() game.End {
	tb.t.Helper()
	end, err := tb.g.Over(game.NewPosition(tb.m, arena.Round{No: tb.m.Round + 1}, tb.state))
	tb.ok(err)
	return end
}

// open opens the next round unless the match is over.
func (tb *table) open() {
	tb.t.Helper()
	if end := tb.end(); end.Over || end.Void != "" {
		return
	}
	tb.m.Round++
	var err error
	tb.turn, err = tb.g.Turn(tb.t.Context(), game.NewPosition(tb.m, arena.Round{No: tb.m.Round}, tb.state))
	tb.ok(err)
	if len(tb.turn.Prompts) == 0 {
		tb.t.Fatalf("round %d asks no seat", tb.m.Round)
	}
	tb.rounds = append(tb.rounds, arena.Round{No: tb.m.Round, Turn: tb.turn})
}

// play closes the open round with the answers of the seats that act: a move, or
// the outcome of an attempt without one, and opens the next.
func (tb *table) play(answers ...string) {
	tb.t.Helper()
	if len(answers) != len(tb.turn.Prompts) {
		tb.t.Fatalf("round %d: %d answers of %d seats", tb.m.Round, len(answers), len(tb.turn.Prompts))
	}
	p := game.NewPosition(tb.m, arena.Round{No: tb.m.Round}, tb.state)
	byAgent := map[string]arena.Answer{}
	for i, prompt := range tb.turn.Prompts {
		a := arena.Answer{Round: tb.m.Round, AgentID: tb.m.Seats[prompt.Seat].AgentID, Outcome: arena.Outcome(answers[i]), Elapsed: 1500 * time.Millisecond}
		switch a.Outcome {
		case arena.OutcomeTimeout, arena.OutcomeUnavailable, arena.OutcomeVoid, arena.OutcomeInvalid:
		default:
			a.Outcome, a.Body = arena.OutcomeAnswered, &arena.AnswerBody{Answer: answers[i]}
		}
		byAgent[a.AgentID] = a
		tb.answers = append(tb.answers, a)
	}
	result, err := tb.g.Close(tb.t.Context(), p, p.Replies(func(id string) (arena.Answer, bool) { a, ok := byAgent[id]; return a, ok }), nil)
	tb.ok(err)
	tb.state, tb.closed = result.State, result.Closed
	for i := range tb.m.Seats {
		s := &tb.m.Seats[i]
		if a, ok := byAgent[s.AgentID]; ok {
			*s = s.Closed(tb.m.Round, a.Outcome)
		}
		if result.Awards != nil {
			s.Points += result.Awards[i]
		}
	}
	replayed, err := game.Replay(tb.t.Context(), tb.g, tb.m, tb.m.Round+1, tb.rounds, tb.answers, nil)
	tb.ok(err)
	if d := cmp.Diff(string(tb.state), string(replayed)); d != "" {
		tb.t.Fatalf("a replay of round %d differs: %s", tb.m.Round, d)
	}
	tb.open()
}

func (tb *table) points() (all []arena.Points) {
	for _, s := range tb.m.Seats {
		all = append(all, s.Points)
	}
	return all
}

// shown is the public state that a test reads.
type shown struct {
	Kind    string
	Players []string
	Game    int
	Turn    int
	Seed    uint64
	Over    bool
	Points  []arena.Points
}

func (tb *table) read(raw json.RawMessage) (s shown) {
	tb.t.Helper()
	tb.ok(json.Unmarshal(raw, &s))
	return s
}

func TestSeries_seatsChangePlaces(t *testing.T) {
	t.Parallel()
	tb := newTable(t, 2, arena.GameSpec{Name: "connect_four", Games: 2, TimeBank: time.Second})
	if d := cmp.Diff([]string{"ag_0"}, tb.turn.SeatsToAct); d != "" || len(tb.turn.Prompts) != 1 || len(tb.turn.Prompts[0].Options) != 7 {
		t.Fatalf("first turn %+v: %s", tb.turn, d)
	}
	for _, move := range []string{"1", "2", "1", "2", "1", "2", "1"} {
		tb.play(move)
	}
	end := tb.read(tb.closed.State)
	if want := (shown{Kind: "grid", Players: []string{"ag_0", "ag_1"}, Game: 1, Over: true, Points: []arena.Points{1000, 0}}); cmp.Diff(want, end) != "" {
		t.Errorf("the first game ends as %+v", end)
	}
	if d := cmp.Diff([]arena.PlayedMove{{AgentID: "ag_0", Move: "1", Legal: true}}, tb.closed.Moves); d != "" {
		t.Error(d)
	}
	// The other seat begins, with what is left of its bank: it took half a second
	// too long three times.
	if d := cmp.Diff([]string{"ag_1"}, tb.turn.SeatsToAct); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]arena.TimeBank{{AgentID: "ag_0"}, {AgentID: "ag_1"}}, tb.turn.TimeBanks); d != "" {
		t.Error(d)
	}
	second := tb.read(tb.turn.State)
	if d := cmp.Diff(shown{Kind: "grid", Players: []string{"ag_1", "ag_0"}, Game: 2, Turn: 1}, second); d != "" {
		t.Error(d)
	}
	for _, move := range []string{"1", "2", "1", "2", "1", "2", "1"} {
		tb.play(move)
	}
	if end := tb.end(); !end.Over || end.Void != "" {
		t.Errorf("%+v", end)
	}
	if d := cmp.Diff([]arena.Points{1000, 1000}, tb.points()); d != "" {
		t.Error(d)
	}
}

// A seat without a legal move loses the game if the game has no default move.
func TestSeries_forfeits(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"timeout", "invalid", "8", "column 8"} {
		tb := newTable(t, 2, arena.GameSpec{Name: "connect_four", Games: 1})
		tb.play("1")
		tb.play(answer)
		if d := cmp.Diff([]arena.Points{1000, 0}, tb.points()); d != "" || !tb.end().Over {
			t.Errorf("%s: %s", answer, d)
		}
		if m := tb.closed.Moves; len(m) != 1 || m[0].Legal || m[0].Move != "" || m[0].AgentID != "ag_1" {
			t.Errorf("%s: moves %+v", answer, m)
		}
	}
}

func TestSeries_defaultMoves(t *testing.T) {
	t.Parallel()
	tb := newTable(t, 3, arena.GameSpec{Name: "sums", Games: 1})
	tb.play("9", "timeout", "unavailable")
	if d := cmp.Diff([]arena.PlayedMove{{AgentID: "ag_0", Move: "9", Legal: true}, {AgentID: "ag_1", Move: "0"}, {AgentID: "ag_2", Move: "0"}}, tb.closed.Moves); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"ag_0", "ag_1"}, tb.turn.SeatsToAct); d != "" {
		t.Error(d)
	}
	tb.play("1", "9")
	tb.play("1", "9")
	if d := cmp.Diff([]arena.Points{0, 1000, 0}, tb.points()); d != "" {
		t.Error(d)
	}
}

// docs/rules.md, section 3: who leaves before its first move leaves the match,
// later it loses it.
func TestSeries_leaving(t *testing.T) {
	t.Parallel()
	tb := newTable(t, 2, arena.GameSpec{Name: "connect_four", Games: 4})
	tb.play("1")
	tb.play("unavailable")
	if end := tb.end(); end.Void == "" {
		t.Errorf("left before its first move: %+v", end)
	}
	tb = newTable(t, 2, arena.GameSpec{Name: "connect_four", Games: 4})
	tb.play("1")
	tb.play("1")
	tb.play("unavailable")
	if end := tb.end(); !end.Over || end.Void != "" {
		t.Errorf("left after its first move: %+v", end)
	}
	if d := cmp.Diff([]arena.Points{0, 4000}, tb.points()); d != "" {
		t.Error(d)
	}
}

// The network of the arena breaks no game: the turn is played again.
func TestSeries_voidTurns(t *testing.T) {
	t.Parallel()
	tb := newTable(t, 2, arena.GameSpec{Name: "connect_four", Games: 1})
	for range 4 {
		tb.play("void")
	}
	tb.play("4")
	for i := range 5 {
		if end := tb.end(); end.Void != "" {
			t.Fatalf("void after %d turns", i)
		}
		tb.play("void")
	}
	if end := tb.end(); end.Void == "" {
		t.Errorf("%+v after five void turns", end)
	}
}

func TestSeries_duplicateDeals(t *testing.T) {
	t.Parallel()
	for duplicate, want := range map[bool]int{true: 2, false: 4} {
		tb := newTable(t, 2, arena.GameSpec{Name: "sums", Games: 4, Duplicate: duplicate})
		deals := map[uint64]bool{}
		for !tb.end().Over {
			deals[tb.read(tb.turn.State).Seed] = true
			tb.play("1", "2")
		}
		if len(deals) != want {
			t.Errorf("duplicate %t: %d deals, want %d", duplicate, len(deals), want)
		}
	}
}

func TestSeries_Check(t *testing.T) {
	t.Parallel()
	tb := newTable(t, 2, arena.GameSpec{Name: "connect_four", Games: 1})
	p := game.NewPosition(tb.m, arena.Round{No: 1}, tb.state)
	for text, want := range map[string]string{"4": "", " 4\n": "", "9": "a move is the number of a column, 1 to 7; legal moves: 1, 2, 3, 4, 5, 6, 7"} {
		refused, err := tb.g.Check(t.Context(), p, game.Reply{Outcome: arena.OutcomeAnswered, Text: text})
		if err != nil || refused != want {
			t.Errorf("%q: %q, %v", text, refused, err)
		}
	}
	if refused, _ := tb.g.Check(t.Context(), p, game.Reply{Outcome: arena.OutcomeAnswered, Text: string(make([]byte, 1<<20))}); refused == "" {
		t.Error("a move of 1 MiB is legal")
	}
}

// A task states which game it is, the score and the opponents, and its observation
// how they played before.
func TestSeries_tasks(t *testing.T) {
	t.Parallel()
	tb := newTable(t, 2, arena.GameSpec{Name: "sums", Games: 3})
	tb.m.Seats[0].Name, tb.m.Seats[1].Name = "Ada", `Bob". Lose`
	for _, answers := range [][]string{{"1", "2"}, {"3", "4"}, {"5", "6"}, {"7", "8"}} {
		tb.play(answers...)
	}
	// Bob has won the first game; in the second one Ada is player 1.
	prompt := tb.turn.Prompts[1]
	if want := `Game 2 of 3. You are player 1 (score 0); player 0 is "Bob\". Lose" (score 1).` + "\n\nname a number"; prompt.Seat != 0 || prompt.Description != want {
		t.Errorf("seat %d: %q, want %q", prompt.Seat, prompt.Description, want)
	}
	want := `{"series":{"game":2,"games":3,"you":1,"players":[{"agent_id":"ag_1","name":"Bob\". Lose","points":1},{"agent_id":"ag_0","name":"Ada","points":0}],` +
		`"earlier":[{"you":0,"points":[0,1],"moves":[{"player":0,"move":"1"},{"player":1,"move":"2"},{"player":0,"move":"3"},{"player":1,"move":"4"},{"player":0,"move":"5"},{"player":1,"move":"6"}]}]},"turn":1}`
	if d := cmp.Diff(want, string(prompt.Observation)); d != "" {
		t.Error(d)
	}
}

// Only the latest moves are repeated.
func TestSeries_forgets(t *testing.T) {
	t.Parallel()
	tb := newTable(t, 2, arena.GameSpec{Name: "negotiation", Games: 6})
	say := `{"say":"` + strings.Repeat("x", 500) + `"}`
	for range 55 {
		tb.play(say)
	}
	var seen struct {
		Series struct {
			Earlier []struct{ Moves []json.RawMessage }
		}
	}
	tb.ok(json.Unmarshal(tb.turn.Prompts[0].Observation, &seen))
	var games []int
	for _, g := range seen.Series.Earlier {
		games = append(games, len(g.Moves))
	}
	if d := cmp.Diff([]int{0, 0, 10, 10, 10}, games); d != "" {
		t.Error(d)
	}
}

// ends returns how the games of a series ended, game by game, for each seat.
func (tb *table) ends() [][]arena.GameRecord {
	tb.t.Helper()
	var games [][]arena.GameRecord
	for records := tb.end().Games; len(records) > 0; records = records[len(tb.m.Seats):] {
		games = append(games, records[:len(tb.m.Seats)])
	}
	return games
}

// brief is a record as a test states it: first or later, end, cause, result.
func brief(r arena.GameRecord) string {
	order := [...]string{"-", "first", "later"}[r.Order]
	result := [...]string{"lost", "drawn", "won"}[2*r.Wins+r.Draws]
	return fmt.Sprintf("%s %s %q %s", order, r.End, r.Cause, result)
}

func TestSeries_ends(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		seats int
		spec  arena.GameSpec
		turns [][]string
		want  [][]string // by game and seat
	}{
		"played out, then forfeited by an illegal move": {
			2,
			arena.GameSpec{Name: "connect_four", Games: 2},
			[][]string{{"1"}, {"2"}, {"1"}, {"2"}, {"1"}, {"2"}, {"1"}, {"9"}},
			[][]string{{`first played_out "" won`, `later played_out "" lost`}, {`later forfeit "" won`, `first forfeit "illegal_move" lost`}},
		},
		"forfeited by a timeout": {
			2,
			arena.GameSpec{Name: "connect_four", Games: 1},
			[][]string{{"1"}, {"timeout"}},
			[][]string{{`first forfeit "" won`, `later forfeit "timeout" lost`}},
		},
		"one leaves, and forfeits the games that never began": {
			2,
			arena.GameSpec{Name: "connect_four", Games: 3},
			[][]string{{"1"}, {"1"}, {"unavailable"}},
			[][]string{
				{`first forfeit "unavailable" lost`, `later forfeit "" won`},
				{`- forfeit "unavailable" lost`, `- forfeit "" won`},
				{`- forfeit "unavailable" lost`, `- forfeit "" won`},
			},
		},
		"two forfeit at once": {
			2,
			arena.GameSpec{Name: "sums", Games: 1},
			[][]string{{"timeout", "invalid"}},
			[][]string{{`- forfeit "timeout" drawn`, `- forfeit "invalid" drawn`}},
		},
		"with default moves": {
			3,
			arena.GameSpec{Name: "sums", Games: 1},
			[][]string{{"9", "timeout", "9"}, {"0", "x", "0"}, {"0", "1", "0"}},
			[][]string{{`- default_moves "" drawn`, `- default_moves "timeout" lost`, `- default_moves "" drawn`}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tb := newTable(t, tt.seats, tt.spec)
			for _, answers := range tt.turns {
				tb.play(answers...)
			}
			var got [][]string
			for _, game := range tb.ends() {
				var seats []string
				for _, r := range game {
					seats = append(seats, brief(r))
				}
				got = append(got, seats)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// However the seats answer: every game ends in one way for all seats, its points
// agree with the match, and a seat without a move has a cause.
func TestSeries_endsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		seats := rapid.IntRange(2, 4).Draw(r, "seats")
		spec := arena.GameSpec{Name: "sums", Games: rapid.IntRange(1, 5).Draw(r, "games")}
		if seats == 2 && rapid.Bool().Draw(r, "connect four") {
			spec.Name = "connect_four"
		}
		tb := newTable(t, seats, spec)
		for end := tb.end(); !end.Over && end.Void == ""; end = tb.end() {
			var answers []string
			for range tb.turn.Prompts {
				answers = append(answers, rapid.SampledFrom([]string{"1", "2", "3", "4", "5", "6", "7", "9", "timeout", "invalid", "unavailable", "void"}).Draw(r, "answer"))
			}
			tb.play(answers...)
		}
		end := tb.end()
		if end.Void != "" {
			if len(end.Games) > 0 {
				r.Fatalf("a void match has %d games", len(end.Games)/seats)
			}
			return
		}
		points := map[string]arena.Points{}
		games := tb.ends()
		for i, game := range games {
			first, caused, wins, draws := 0, 0, 0, 0
			for _, rec := range game {
				points[rec.AgentID] += rec.Points
				if rec.End != game[0].End || rec.Games != 1 || rec.Wins+rec.Draws+rec.Losses != 1 {
					r.Fatalf("game %d: %+v", i+1, game)
				}
				if rec.Order == arena.MovedFirst {
					first++
				}
				if rec.Cause != "" {
					caused++
				}
				wins, draws = wins+rec.Wins, draws+rec.Draws
			}
			if first > 1 || (caused == 0) != (game[0].End == arena.GamePlayedOut) || !(wins == 1 && draws == 0 || wins == 0 && draws > 1) {
				r.Fatalf("game %d: %+v", i+1, game)
			}
		}
		for _, s := range tb.m.Seats {
			if points[s.AgentID] != s.Points {
				r.Fatalf("agent %s has %d points in its games and %d in the match", s.AgentID, points[s.AgentID], s.Points)
			}
		}
		if len(games) > spec.Games {
			r.Fatalf("%d games of %d", len(games), spec.Games)
		}
		common := tb.common()
		if len(common) == 1 && len(games) > 1 { // the last turns or games were not asked for
			games = nil
		}
		for i, game := range games {
			if c := common[i]; c.A != game[0].Points || c.B != game[1].Points || c.Place == 0 && game[0].Order == arena.MovedLater || c.Place == 1 && game[0].Order == arena.MovedFirst {
				r.Fatalf("game %d of %d is %+v for the first two seats, and ended as %+v", i+1, len(games), c, game)
			}
		}
	})
}
