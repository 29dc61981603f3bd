package card

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

func painter(t *testing.T) *Painter {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func match(status arena.MatchStatus, round int, names ...string) arena.Match {
	m := arena.Match{ID: "m_1", Status: status, Round: round, Settings: arena.Settings{Rounds: 5}, StartsAt: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}
	for i, name := range names {
		m.Seats = append(m.Seats, arena.Seat{No: i, AgentID: fmt.Sprintf("ag_01k9%07d", i*6151), Name: name, Points: arena.Points(2500 - 500*i), Place: i + 1})
	}
	return m
}

// Matches have a picture whatever their agents call themselves.
func TestPainter_Draw(t *testing.T) {
	t.Parallel()
	p := painter(t)
	crowd := make([]string, 128)
	for i := range crowd {
		crowd[i] = fmt.Sprintf("Agent %d", i)
	}
	for name, m := range map[string]arena.Match{
		"duel":      match(arena.MatchFinished, 5, "Quill", "Meridian"),
		"live":      match(arena.MatchRunning, 3, "Quill", "Meridian"),
		"scheduled": match(arena.MatchScheduled, 0, "Quill", "Meridian"),
		"table":     match(arena.MatchRunning, 2, "Quill", "Meridian", "Kestrel", "Ordinary Oracle"),
		"crowd":     match(arena.MatchRunning, 2, crowd...),
		"hostile":   match(arena.MatchRunning, 2, "<script>alert(1)</script>", "\u202eevil\u202c\x00\n"),
		"foreign":   match(arena.MatchRunning, 2, "شبكة الليل", "量子カラス"),
		"long":      match(arena.MatchRunning, 2, strings.Repeat("Wide ", 40), strings.Repeat("W", 200)),
		"nameless":  match(arena.MatchVoid, 1, "", " "),
		"one":       match(arena.MatchCancelled, 0, "Quill"),
		"empty":     match(arena.MatchRunning, 1),
	} {
		data, err := p.Draw(visibilitytest.Match(m), "Open Trivia & <b>more</b>", nil, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkCard(t, name, data)
	}
}

// Seasons have a picture whatever their agents call themselves.
func TestPainter_DrawSeason(t *testing.T) {
	t.Parallel()
	p := painter(t)
	season := func(status arena.SeasonStatus, ranks []int, names ...string) arena.Season {
		s := arena.Season{League: "quiz", No: 3, Status: status}
		for i, name := range names {
			id := fmt.Sprintf("ag_01k9%07d", i*6151)
			s.Entrants = append(s.Entrants, arena.Entrant{AgentID: id, Name: name, Rating: arena.MilliElo(1_600_499 - 10_000*i)})
			if i < len(ranks) {
				s.Table = append(s.Table, arena.TableRow{Rank: ranks[i], AgentID: id, Name: name, Wins: 9 - i, Draws: 1, Losses: i})
			}
		}
		return s
	}
	for name, s := range map[string]arena.Season{
		"season":         season(arena.SeasonFinished, []int{1, 2, 3, 4}, "Quill", "Meridian", "Kestrel", "Ordinary Oracle"),
		"season-tie":     season(arena.SeasonFinished, []int{1, 1, 1, 1}, "Quill", "Meridian", "Kestrel", "Ordinary Oracle"),
		"season-one":     season(arena.SeasonFinished, []int{1}, "Quill"),
		"season-hostile": season(arena.SeasonFinished, []int{1, 2, 3}, "\u202eevil\u202c\x00\n", "", strings.Repeat("W", 200)),
		"season-running": season(arena.SeasonRunning, []int{1, 2, 3}, "Quill", "Meridian", "Kestrel", "شبكة الليل", "Zephyr"),
		"season-empty":   season(arena.SeasonFinished, nil),
	} {
		data, err := p.DrawSeason(s, "Friday Cup & <b>more</b>", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkCard(t, name, data)
	}
}

// The card of a season in progress shows no results.
func TestPainter_DrawSeason_running(t *testing.T) {
	t.Parallel()
	p := painter(t)
	s := arena.Season{No: 1, Status: arena.SeasonRunning, Entrants: []arena.Entrant{{AgentID: "ag_1", Name: "Quill"}, {AgentID: "ag_2", Name: "Kestrel"}}}
	before, err := p.DrawSeason(s, "Cup", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Table = []arena.TableRow{{Rank: 1, AgentID: "ag_2", Name: "Kestrel", Wins: 3}}
	after, err := p.DrawSeason(s, "Cup", nil)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the card of a running season follows its table: %v", err)
	}
}

// checkCard checks that data is a card. With CARDS set to a folder it is kept
// there, to look at.
func checkCard(t *testing.T, name string, data []byte) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil || img.Bounds().Dx() != Width || img.Bounds().Dy() != Height {
		t.Errorf("%s: %v", name, err)
	}
	if dir := os.Getenv("CARDS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600); err != nil {
			t.Error(err)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	p := painter(t)
	for name, want := range map[string]struct {
		words string
		shown bool
	}{
		"Quill":                     {"Quill", true},
		"  a\t b\n":                 {"a b", true},
		"Žluťoučký Ωμέγα Тест":      {"Žluťoučký Ωμέγα Тест", true},
		"\u202eevil\u2066x\u200b":   {"evilx", true},
		"Kráke 🐦":                   {"Kráke", true},
		"شبكة":                      {"", false},
		"量子 x":                      {"x", false},
		"":                          {"", false},
		"\x1b[31mred":               {"[31mred", true},
		"<script>alert(1)</script>": {"<script>alert(1)</script>", true},
	} {
		if words, shown := plain(p.bold, name); words != want.words || shown != want.shown {
			t.Errorf("%q: %q, %v, want %q, %v", name, words, shown, want.words, want.shown)
		}
	}
}

// Marks are the avatars of the pages (web/src/lib/avatar.ts).
func TestMarkOf(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]mark{
		"ag_1":                          {60, 212, [3]int{2, 4, 7}},
		"ag_01k9zzzzzzzzzzzzzzzzzzzzzz": {165, 205, [3]int{1, 1, 7}},
		"":                              {120, 188, [3]int{3, 2, 1}},
	} {
		if diff := cmp.Diff(want, markOf(id, ""), cmp.AllowUnexported(mark{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", id, diff)
		}
	}
}

// An owner may choose the mark.
func TestMarkOf_chosen(t *testing.T) {
	t.Parallel()
	marks, seen := arena.AllMarks(), map[mark]bool{}
	for _, s := range marks.Shapes {
		for _, c := range marks.Colors {
			m := markOf("ag_1", s.Name+"-"+c.Name)
			if m.hue != float64(c.Hue) || m.shapes != s.Cells || slices.ContainsFunc(s.Cells[:], func(n int) bool { return n < 0 || n >= shapes }) || seen[m] {
				t.Errorf("%s-%s is %v", s.Name, c.Name, m)
			}
			seen[m] = true
		}
	}
	for _, unknown := range []string{"", "star", "star-", "-teal", "star-teal-1", "Star-teal"} {
		if markOf("ag_1", unknown) != markOf("ag_1", "") {
			t.Errorf("%q is a mark", unknown)
		}
	}
}

func BenchmarkPainter_Draw(b *testing.B) {
	p, err := New()
	if err != nil {
		b.Fatal(err)
	}
	for name, n := range map[string]int{"duel": 2, "crowd": 128} {
		m := match(arena.MatchRunning, 2, make([]string, n)...)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Draw(visibilitytest.Match(m), "Open Trivia", nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
