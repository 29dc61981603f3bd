package players_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/catalog"
	"github.com/agora-arena/arena/league/game/players"
	"github.com/agora-arena/arena/league/game/rules"
	"github.com/agora-arena/arena/scoring/sandbox/sandboxtest"
)

// library returns all games of the arena.
func library(t *testing.T) *catalog.Catalog {
	t.Helper()
	run, err := sandboxtest.New()
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.New(run, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// play plays a game between players by name and returns their points. Every move must
// be legal.
func play(t *testing.T, r rules.Rules, seed uint64, names ...string) []arena.Points {
	t.Helper()
	ctx, info := t.Context(), r.Info()
	st, err := r.Setup(ctx, rules.Start{Seed: seed, Players: len(names), Options: map[string]int{}})
	if err != nil {
		t.Fatal(err)
	}
	for turn := uint64(0); ; turn++ {
		p, err := r.Position(ctx, st)
		if err != nil {
			t.Fatal(err)
		}
		if p.Over() {
			return p.Points
		}
		var moves []rules.Move
		for _, a := range p.ToAct {
			dice := rand.New(rand.NewPCG(seed, turn<<8+uint64(a.Player)))
			text, err := players.Move(names[a.Player], info.Name, a.Observation, dice)
			if err != nil {
				t.Fatal(err)
			}
			move, err := r.Parse(ctx, st, a.Player, text)
			if err != nil {
				t.Fatalf("%s, seed %d, turn %d: %s plays %q: %v\n%s", info.Name, seed, turn, names[a.Player], text, err, a.Observation)
			}
			moves = append(moves, rules.Move{Player: a.Player, Move: move})
		}
		if st, err = r.Move(ctx, st, moves); err != nil {
			t.Fatal(err)
		}
	}
}

// share returns the share of the games from both sides that the first player wins
// against the second one; a draw is half a game.
func share(t *testing.T, r rules.Rules, games int, a, b string) float64 {
	t.Helper()
	sum, all := 0, 0
	for seed := range uint64(games) {
		for _, first := range []bool{true, false} {
			names, mine := []string{a, b}, 0
			if !first {
				names, mine = []string{b, a}, 1
			}
			points := play(t, r, seed, names...)
			switch all += 2; {
			case points[mine] > points[1-mine]:
				sum += 2
			case points[mine] == points[1-mine]:
				sum++
			}
		}
	}
	return float64(sum) / float64(all)
}

// Greedy and search beat random, and search does not lose to greedy: moves are legal,
// and the seeds are fixed, so that the shares are the same on every machine.
// ARENA_TEST_SLOW=1 plays the numbers of games of docs/leagues.md.
func TestMove_Strength(t *testing.T) {
	t.Parallel()
	if got := players.Games(); len(got) != 8 {
		t.Fatalf("games %v", got)
	}
	games := library(t)
	for _, name := range players.Games() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := games.Rules(t.Context(), arena.GameSpec{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			n := map[string]int{"chess": 1, "connect_four": 3, "kuhn_poker": 30, "negotiation": 30, "liars_dice": 6, "tic_tac_toe": 3, "colonel_blotto": 10, "iterated_prisoners_dilemma": 2}[name]
			if os.Getenv("ARENA_TEST_SLOW") != "" {
				n *= 10
			}
			greedy := share(t, r, n, "greedy", "random")
			if !players.Plays("search", name) {
				t.Logf("%s: %d games: greedy–random %.3f", name, 2*n, greedy)
				if greedy <= 0.5 {
					t.Errorf("the players are not in order")
				}
				return
			}
			search, best := share(t, r, n, "search", "random"), share(t, r, n, "search", "greedy")
			t.Logf("%s: %d games: greedy–random %.3f, search–random %.3f, search–greedy %.3f", name, 2*n, greedy, search, best)
			if greedy <= 0.5 || search <= 0.5 || best < 0.45 {
				t.Errorf("the players are not in order")
			}
		})
	}
}

// The same dice make the same move, and an unknown player or game is an error.
func TestMove_Repeats(t *testing.T) {
	t.Parallel()
	r := rules.LiarsDice()
	for seed := range uint64(2) {
		first, again := play(t, r, seed, "search", "greedy", "random"), play(t, r, seed, "search", "greedy", "random")
		if !slices.Equal(first, again) {
			t.Errorf("seed %d: %v and then %v", seed, first, again)
		}
	}
	dice := rand.New(rand.NewPCG(1, 1))
	for _, bad := range [][2]string{{"p50", "chess"}, {"random", "go"}, {"search", "chess"}} {
		if move, err := players.Move(bad[0], bad[1], []byte(`{}`), dice); err == nil {
			t.Errorf("%v moved %q", bad, move)
		}
	}
}

// A player knows as large a share of the questions as its name says, the same ones each
// time, and answers the others wrong.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range players.Judges() {
		task := arena.Task{Answers: []string{"4"}}
		if kind == arena.JudgeChoice {
			task.Options = []string{"3", "4", "5"}
		}
		for _, percent := range []int{5, 50, 95} {
			right := 0
			for q := range 2000 {
				task.Description = "question " + strconv.Itoa(q)
				text := players.Answer(percent, arena.JudgeSpec{Kind: kind}, task)
				if text == "4" {
					right++
				}
				if again := players.Answer(percent, arena.JudgeSpec{Kind: kind}, task); again != text {
					t.Fatalf("%q and then %q", text, again)
				}
			}
			if got := float64(right) / 20; got < float64(percent)-3 || got > float64(percent)+3 {
				t.Errorf("%s: p%d knows %.1f %%", kind, percent, got)
			}
		}
	}
	if text := players.Answer(100, arena.JudgeSpec{Kind: arena.JudgeSet}, arena.Task{Answers: []string{"red", "blue"}}); !strings.Contains(text, "blue") {
		t.Errorf("a set is answered %q", text)
	}
}
