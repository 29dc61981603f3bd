package card

import (
	"bytes"
	"encoding/json"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility/visibilitytest"
)

// drawn returns the card of a match of two agents in a position.
func drawn(t *testing.T, p *Painter, name, state string) *image.RGBA {
	t.Helper()
	m := match(arena.MatchRunning, 9, "Quill", "Meridian")
	m.Settings.Rounds = 0
	data, err := p.Draw(visibilitytest.Match(m), "Friday games", nil, json.RawMessage(state))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	checkCard(t, "game-"+name, data)
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Bounds(), img, image.Point{}, draw.Src)
	return out
}

func stored(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/positions", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// is reports whether a pixel has a color.
func is(img *image.RGBA, x, y float64, want tone) bool {
	r, g, b, _ := img.At(int(x), int(y)).RGBA()
	return tone(r>>8<<16|g>>8<<8|b>>8) == want
}

// The card of a match of each game shows its position.
func TestPainter_Draw_games(t *testing.T) {
	t.Parallel()
	p := painter(t)
	for _, game := range []string{"chess", "connect_four", "tic_tac_toe", "kuhn_poker", "liars_dice", "colonel_blotto", "iterated_prisoners_dilemma", "negotiation"} {
		drawn(t, p, game, stored(t, game))
	}
}

// The pieces of a grid are in their cells, in the colors of their players.
func TestPainter_Draw_grid(t *testing.T) {
	t.Parallel()
	p := painter(t)
	four := drawn(t, p, "connect_four", stored(t, "connect_four"))
	const size, left, top = 66.0, boardLeft + (boardWidth-7*66)/2, boardTop + (boardHeight-6*66)/2
	for _, c := range []struct {
		row, column int
		want        tone
	}{
		{5, 0, playerColor(0)},
		{5, 1, playerColor(1)},
		{5, 4, cellOdd}, // empty
		{0, 0, cellEven},
	} {
		x, y := left+size*(float64(c.column)+0.5)+14, top+size*(float64(c.row)+0.5)
		if !is(four, x, y, c.want) {
			t.Errorf("row %d, column %d is %v, want %06x", c.row, c.column, four.At(int(x), int(y)), c.want)
		}
	}
	if !is(four, left+size*1.5, top+size*2+3, ink) || !is(four, left+size+6, top+size*4.5, cellWon) {
		t.Error("the last disc or the line of four is not marked")
	}
	chess := drawn(t, p, "chess", stored(t, "chess"))
	for row, want := range map[float64]tone{1: black, 6: white, 3: chessOdd} { // pawns, pawns, nothing
		x, y := boardLeft+(boardWidth-8*50)/2+25, boardTop+50*row+40
		if !is(chess, x, y, want) {
			t.Errorf("row %g is %v, want %06x", row, chess.At(int(x), int(y)), want)
		}
	}
}

// A hidden card shows its back, and one that is shown its face.
func TestPainter_Draw_hidden(t *testing.T) {
	t.Parallel()
	p := painter(t)
	hidden := stored(t, "kuhn_poker")
	open := drawn(t, p, "kuhn_poker_over", strings.Replace(hidden, `"?"`, `"K"`, 1))
	closed := drawn(t, p, "kuhn_poker", hidden)
	const x, first, second = boardLeft + 36, boardTop + 24, boardTop + 24 + 150
	if !is(open, x, first, white) || !is(open, x, second, cellOdd) || !is(closed, x, first, cellOdd) {
		t.Errorf("open %v, %v, closed %v", open.At(int(x), int(first)), open.At(int(x), int(second)), closed.At(int(x), int(first)))
	}
}

// A state that cannot be drawn leaves the card of the seats, and no state is an
// error: the rules of a game may be anybody's.
func TestPainter_Draw_states(t *testing.T) {
	t.Parallel()
	p := painter(t)
	seats := drawn(t, p, "none", "")
	for name, state := range map[string]string{
		"null": "null", "broken": "{", "list": "[]", "kind": `{"kind":"map"}`, "no-hands": `{"kind":"cards","hands":{}}`, "no-rows": `{"kind":"table","rows":3}`,
		"silent": `{"kind":"transcript"}`, "no-size": `{"kind":"grid","rows":0,"columns":3}`, "huge": `{"kind":"grid","rows":1000000000,"columns":1000000000}`,
		"negative": `{"kind":"grid","rows":-1,"columns":-1}`,
	} {
		if !bytes.Equal(drawn(t, p, name, state).Pix, seats.Pix) {
			t.Errorf("%s: the card is not that of the seats", name)
		}
	}
	many := strings.Repeat(`{"player":7,"cards":["?","10","\u202e","👑"],"chips":-99999999},`, 40)
	for name, state := range map[string]string{
		"wide-grid":  `{"kind":"grid","rows":40,"columns":1,"cells":["x",5,null,"y","z"],"pieces":{"x":{"player":99,"symbol":"👑"},"y":{"player":-3,"symbol":""},"z":7},"last":[-1,999],"line":[40]}`,
		"many-hands": `{"kind":"cards","hands":[` + strings.TrimSuffix(many, ",") + `],"table":["A","?"],"log":[{"player":0,"text":"` + strings.Repeat("long ", 99) + `"}]}`,
		"odd-die":    `{"kind":"cards","hands":[{"player":0,"cards":["9","-1","0","x",""],"dice":true,"out":true}],"pot":-1}`,
		"odd-values": `{"kind":"table","columns":["a",2],"bars":true,"rows":[{"player":0,"values":[1e308,"NaN","7"],"won":[-1,0]},{"player":1,"values":"none"},{"values":["Infinity","-3"]}]}`,
		"no-columns": `{"kind":"table","rows":[{"player":0}],"bars":true}`,
		"strange":    `{"kind":"transcript","caption":"` + strings.Repeat("wide ", 200) + `","lines":[{"player":5,"text":"شبكة"},{"player":0,"text":"a\u0000\u202eb","offer":{}},{"text":7}],"facts":[{}]}`,
		"facts":      `{"kind":"transcript","facts":[{"player":0,"text":"1 book"},{"text":"2"},{"text":"3"},{"text":"4"},{"text":"5"}],"players":[1,2]}`,
	} {
		if bytes.Equal(drawn(t, p, name, state).Pix, seats.Pix) {
			t.Errorf("%s: the card shows no position", name)
		}
	}
}

// A table of many columns shows those that were played last.
func TestPainter_Draw_columns(t *testing.T) {
	t.Parallel()
	p := painter(t)
	table := func(early, late string) []byte {
		columns, values := strings.Repeat(`"Round",`, 29)+`"Round"`, strings.Repeat(`"`+early+`",`, 29)+`"`+late+`"`
		return drawn(t, p, "columns", `{"kind":"table","columns":[`+columns+`],"rows":[{"player":0,"values":[`+values+`]}]}`).Pix
	}
	if bytes.Equal(table("C", "C"), table("C", "D")) {
		t.Error("the last column is not shown")
	}
}

func BenchmarkPainter_Draw_games(b *testing.B) {
	p, err := New()
	if err != nil {
		b.Fatal(err)
	}
	m := match(arena.MatchRunning, 2, "Quill", "Meridian")
	for _, game := range []string{"chess", "negotiation"} {
		state, err := os.ReadFile(filepath.Join("testdata/positions", game+".json"))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(game, func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Draw(visibilitytest.Match(m), "Friday games", nil, state); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
