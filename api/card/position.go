package card

import (
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"golang.org/x/image/font/sfnt"

	"github.com/agora-arena/arena/arena"
)

// The part of a card in which a position is drawn, in pixels. The seats are to
// its right, and a line about the position is below it.
const (
	boardLeft   = float64(margin)
	boardTop    = 164.0
	boardWidth  = 620.0
	boardHeight = 400.0
	boardRight  = boardLeft + boardWidth
	boardEnd    = boardTop + boardHeight
	seatsLeft   = boardRight + 64
	captionBase = 604.0
)

// maxSeats is how many seats are listed beside a position.
const maxSeats = 5

// playerColor returns the color of a player on the dark pages (web/src/tokens.css).
func playerColor(n int) tone {
	colors := [...]tone{0xff9d5c, 0x6cb6ff, 0x4fd69c, 0xcf9bff, 0x58d3de, 0xff8fbe}
	if n < 0 {
		return faint
	}
	return colors[n%len(colors)]
}

// word is a text of a position. A number is written as it stands, and anything
// else is empty.
type word string

// UnmarshalJSON implements json.Unmarshaler. It never fails.
func (w *word) UnmarshalJSON(data []byte) error {
	var s string
	var n json.Number
	switch {
	case json.Unmarshal(data, &s) == nil:
		*w = word(s)
	case json.Unmarshal(data, &n) == nil:
		*w = word(n)
	}
	return nil
}

// decode reads a part of a position into a pointer and reports whether it is
// JSON. Members of a wrong type are left out: the rules may be anybody's.
func decode(state json.RawMessage, into any) bool {
	err := json.Unmarshal(state, into)
	_, mistyped := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || mistyped
}

// form is a position of one kind (docs/games.md, "What spectators see").
type form interface {
	// paint draws the position into the part of the card for it.
	paint(c *canvas)
	// color returns the color of a player's pieces, cards or values.
	color(player int) tone
	// valid reports whether there is something to draw.
	valid() bool
}

// position is a public state as far as a card shows it.
type position struct {
	Kind    string   `json:"kind"`
	Caption word     `json:"caption"`
	Players []string `json:"players"` // agent ids by player
	Game    int      `json:"game"`    // 1-based
	Games   int      `json:"games"`
	form    form
}

// positionOf reads a public state. ok is false if a card cannot show it.
func positionOf(state json.RawMessage) (p position, ok bool) {
	if len(state) == 0 || !decode(state, &p) {
		return p, false
	}
	switch p.Kind {
	case "grid":
		p.form = &grid{}
	case "cards":
		p.form = &cards{}
	case "table":
		p.form = &table{}
	case "transcript":
		p.form = &transcript{}
	default:
		return p, false
	}
	return p, decode(state, p.form) && p.form.valid()
}

// played shows the position of a game, with the seats beside it.
func (c *canvas) played(m arena.Match, p position) {
	p.form.paint(c)
	seats := slices.Clone(m.Seats)
	if len(seats) > maxSeats {
		seats = leaders(seats)[:maxSeats]
	}
	const step, size = 78.0, 58.0
	top := boardTop + (boardHeight-step*float64(len(seats)))/2
	for i, s := range seats {
		y := top + step*float64(i)
		c.mark(s.AgentID, seatsLeft, y, size)
		if n := slices.Index(p.Players, s.AgentID); n >= 0 {
			fill(c.img, p.form.color(n), rectangle(seatsLeft-16, y, seatsLeft-10, y+size))
		}
		base := y + 40
		if result := placed(m, s); result != "" {
			base = y + 26
			c.write(text{words: result, font: c.regular, size: 24, width: 160, color: faint}, seatsLeft+size+18, y+54)
		}
		c.write(text{words: c.name(s.Name, s.AgentID), font: c.bold, size: 32, width: Width - margin - seatsLeft - size - 106, color: ink}, seatsLeft+size+18, base)
		c.write(text{words: points(s.Points), font: c.bold, size: 38, width: 76, color: ink, align: end}, Width-margin, y+42)
	}
	var about []string
	if p.Games > 1 && p.Game > 0 {
		about = append(about, fmt.Sprintf("Game %d of %d", p.Game, p.Games))
	}
	if caption, ok := plain(c.regular, string(p.Caption)); ok {
		about = append(about, caption)
	}
	c.write(text{words: strings.Join(about, " · "), font: c.regular, size: 26, width: Width - 2*margin, color: faint}, margin, captionBase)
}

// label writes a text of a position, as far as the fonts can show it.
func (c *canvas) label(words word, t text, x, y float64) {
	shown, ok := plain(t.font, string(words))
	if !ok {
		return
	}
	t.words = shown
	c.write(t, x, y)
}

// shows reports whether a font has a glyph for each character of a text.
func shows(f *sfnt.Font, words string) bool {
	shown, ok := plain(f, words)
	return ok && shown == words
}

// circle returns the outline of a circle.
func circle(x, y, r float64) []point { return arc(x, y, r, 0, fullTurn) }

// frame draws a box with a border of 2 pixels.
func (c *canvas) frame(left, top, right, bottom float64, inside color.Color) {
	fill(c.img, line, rectangle(left, top, right, bottom))
	fill(c.img, inside, rectangle(left+2, top+2, right-2, bottom-2))
}
