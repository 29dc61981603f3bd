package rules_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/game/rules"
)

func TestFormatPGN(t *testing.T) {
	t.Parallel()
	got := rules.FormatPGN(map[string]string{
		"White": `A "quoted" \ name`, "Black": "bi\u202edi\nrectional", "ECO": "C20", "bad name": "x", "Result": "1-0", "Annotator": "",
	}, strings.Fields("e4 e5 Nf3 Nc6 Bb5 a6 Ba4 Nf6 O-O Be7 Re1 b5 Bb3 d6 c3 O-O"), "1/2-1/2")
	want := `[Event "?"]
[Site "?"]
[Date "????.??.??"]
[Round "?"]
[White "A \"quoted\" \\ name"]
[Black "bidirectional"]
[Result "1/2-1/2"]
[ECO "C20"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3
O-O 1/2-1/2

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := rules.FormatPGN(nil, nil, "2-0"); !strings.HasSuffix(got, "[Result \"*\"]\n\n*\n\n") {
		t.Errorf("a game without moves and result: %q", got)
	}
}

// pgnGame is a game that was read from a file.
type pgnGame struct {
	tags  map[string]string
	moves []string
}

var (
	pgnHeader = regexp.MustCompile(`(?m)^\[(\w+) "(.*)"\]$`)
	pgnBranch = regexp.MustCompile(`\([^()]*\)`)
	pgnRemark = regexp.MustCompile(`\{[^}]*\}|\d+\.+|\$\d+|[?!]+`)
)

// realGames reads the games that the library's module brings for its own tests:
// games of Lichess, whose database is in the public domain (CC0). It returns the first
// 1,000 that begin in the starting position.
func realGames(t *testing.T) (games []pgnGame) {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/corentings/chess/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "fixtures", "pgns", "big_big.pgn"))
	if err != nil {
		t.Fatal(err)
	}
	for _, game := range strings.Split(string(text), "[Event ")[1:] {
		g := pgnGame{tags: map[string]string{}}
		header, moves, _ := strings.Cut("[Event "+game, "\n\n")
		for _, tag := range pgnHeader.FindAllStringSubmatch(header, -1) {
			g.tags[tag[1]] = tag[2]
		}
		if g.tags["FEN"] != "" {
			continue
		}
		moves = pgnRemark.ReplaceAllString(moves, " ")
		for pgnBranch.MatchString(moves) { // they nest
			moves = pgnBranch.ReplaceAllString(moves, " ")
		}
		g.moves = strings.Fields(moves)
		if n := len(g.moves); n == 0 || g.moves[n-1] != g.tags["Result"] {
			t.Fatalf("a game ends in another result than %s: %s", g.tags["Result"], moves)
		}
		g.moves = g.moves[:len(g.moves)-1]
		if games = append(games, g); len(games) == 1000 {
			return games
		}
	}
	t.Fatalf("found %d games", len(games))
	return nil
}

// checkRealGame plays a game by the rules. Its moves must be legal and in the same
// notation, and it must end as the rules say. It returns how it ended.
func checkRealGame(t *testing.T, g pgnGame) (caption string) {
	t.Helper()
	p := begin(t, rules.Chess(), rules.Start{Players: 2, Options: map[string]int{"max_moves": 300}})
	var moves []string
	for i, san := range g.moves {
		move, err := rules.Chess().Parse(t.Context(), p.state(), i%2, san)
		if isIllegal(err) && p.position(t).Over() {
			break // Lichess plays on until a player claims the draw
		}
		if err != nil || move != san {
			t.Fatalf("%s, move %d: %q is %q, %v", g.tags["Site"], i+1, san, move, err)
		}
		p.apply(t, []rules.Move{{Player: i % 2, Move: move}})
		moves = append(moves, move)
	}
	end := p.position(t)
	var grid rules.Grid
	if err := json.Unmarshal(end.Public, &grid); err != nil {
		t.Fatal(err)
	}
	mate := strings.HasSuffix(strings.Join(g.moves, " "), "#")
	result := map[arena.Points]string{arena.OnePoint: "1-0", arena.OnePoint / 2: "1/2-1/2", 0: "0-1"}
	switch {
	case mate && !strings.HasPrefix(grid.Caption, "Checkmate"):
		t.Errorf("%s ends in mate, and by the rules %q", g.tags["Site"], grid.Caption)
	case len(moves) < len(g.moves) && grid.Caption != "Draw by threefold repetition" && grid.Caption != "Draw by the 50-move rule":
		t.Errorf("%s has more moves after %q", g.tags["Site"], grid.Caption)
	case len(moves) == len(g.moves) && end.Over() && result[end.Points[0]] != g.tags["Result"]:
		t.Errorf("%s ends %s, and by the rules %q", g.tags["Site"], g.tags["Result"], grid.Caption)
	case len(moves) == len(g.moves) && !end.Over():
		grid.Caption = "ended by a player"
	}
	text := rules.FormatPGN(g.tags, moves, g.tags["Result"])
	header, written, _ := strings.Cut(text, "\n\n")
	if !slices.Equal(strings.Fields(pgnRemark.ReplaceAllString(written, " ")), append(moves, g.tags["Result"])) {
		t.Errorf("%s is written as %s", g.tags["Site"], text)
	}
	for _, tag := range pgnHeader.FindAllStringSubmatch(header, -1) {
		if want := g.tags[tag[1]]; tag[2] != want && want != "" {
			t.Errorf("%s: tag %s is %q, want %q", g.tags["Site"], tag[1], tag[2], want)
		}
	}
	return grid.Caption
}

func TestChess_realGames(t *testing.T) {
	t.Parallel()
	for i, g := range realGames(t) {
		if i%20 == 0 {
			checkRealGame(t, g)
		}
	}
}

func TestSlow_chessGames(t *testing.T) {
	t.Parallel()
	if os.Getenv("ARENA_TEST_SLOW") == "" {
		t.Skip("plays 1,000 games; ARENA_TEST_SLOW=1 runs it")
	}
	ends := map[string]int{}
	for _, g := range realGames(t) {
		ends[checkRealGame(t, g)]++
	}
	t.Logf("ends of real games: %v", ends)
	if ends["Checkmate: White wins"] == 0 || ends["Checkmate: Black wins"] == 0 || ends["Draw by threefold repetition"] == 0 {
		t.Errorf("the games end too much alike: %v", ends)
	}
}
