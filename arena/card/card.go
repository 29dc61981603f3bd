package card

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"math"
	"slices"
	"strconv"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/arena/visibility"
)

// The size of a card in pixels: what sites that show previews ask for.
const (
	Width  = 1200
	Height = 630
)

const margin = 72

// The colours of the pages in the dark.
const (
	hall  tone = 0x090a0d
	line  tone = 0x3a4150
	ink   tone = 0xf3f4f7
	faint tone = 0x8a92a3
)

// tone is a colour of the palette: red, green and blue in a byte each.
type tone uint32

// RGBA implements color.Color.
func (t tone) RGBA() (r, g, b, a uint32) {
	return uint32(t>>16&0xff) * 0x101, uint32(t>>8&0xff) * 0x101, uint32(t&0xff) * 0x101, 0xffff
}

// Painter draws cards. It may be used by many at once.
type Painter struct {
	regular, bold *sfnt.Font
}

// New reads the fonts.
func New() (*Painter, error) {
	regular, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		return nil, fmt.Errorf("card: regular font: %w", err)
	}
	bold, err := sfnt.Parse(gobold.TTF)
	if err != nil {
		return nil, fmt.Errorf("card: bold font: %w", err)
	}
	return &Painter{regular: regular, bold: bold}, nil
}

// Draw returns the card of a match as a PNG of Width by Height; league is the
// title of its league.
func (p *Painter) Draw(visible visibility.Match, league string) ([]byte, error) {
	m := visible.Row()
	c := &canvas{Painter: p, img: image.NewRGBA(image.Rect(0, 0, Width, Height))}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(hall), image.Point{}, draw.Src)
	c.head(m, league)
	if len(m.Seats) == 2 {
		c.duel(m)
	} else {
		c.many(m)
	}
	if c.err != nil {
		return nil, fmt.Errorf("draw card of match %s: %w", m.ID, c.err)
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, c.img); err != nil {
		return nil, fmt.Errorf("encode card of match %s: %w", m.ID, err)
	}
	return out.Bytes(), nil
}

// canvas is one card being drawn; the first error stays.
type canvas struct {
	*Painter
	img *image.RGBA
	err error
}

func (c *canvas) write(t text, x, y float64) {
	if c.err == nil {
		c.err = t.paint(c.img, x, y)
	}
}

func (c *canvas) head(m arena.Match, league string) {
	c.write(text{words: "Agora Arena", font: c.bold, size: 30, width: 300, color: faint}, margin, 96)
	if title, ok := plain(c.bold, league); ok {
		c.write(text{words: title, font: c.bold, size: 40, width: 620, color: ink, align: end}, Width-margin, 90)
	}
	c.write(text{words: standing(m), font: c.regular, size: 28, width: 620, color: faint, align: end}, Width-margin, 132)
}

// standing returns the state of the match in words.
func standing(m arena.Match) string {
	round := ""
	switch {
	case m.Round > 0 && m.Settings.Rounds > 0:
		round = fmt.Sprintf("round %d of %d", m.Round, m.Settings.Rounds)
	case m.Round > 0:
		round = fmt.Sprintf("round %d", m.Round)
	}
	switch m.Status {
	case arena.MatchFinished:
		return "final"
	case arena.MatchRunning:
		if round != "" {
			return "live, " + round
		}
		return "live"
	case arena.MatchVoid:
		return "does not count"
	case arena.MatchCancelled:
		return "cancelled"
	default:
		return "starts " + m.StartsAt.UTC().Format("2 January, 15:04") + " UTC"
	}
}

// duel faces the two seats, with the score between them.
func (c *canvas) duel(m arena.Match) {
	const size, column = 208, 380
	for i, s := range m.Seats {
		x := float64(margin + column/2)
		if i == 1 {
			x = Width - margin - column/2
		}
		markOf(s.AgentID).paint(c.img, x-size/2, 210, size)
		c.write(text{words: c.name(s), font: c.bold, size: 44, width: column, color: ink, align: middle}, x, 490)
		if result := placed(m, s); result != "" {
			c.write(text{words: result, font: c.regular, size: 30, width: column, color: faint, align: middle}, x, 540)
		}
	}
	if m.Round == 0 {
		c.write(text{words: "v", font: c.bold, size: 80, width: 140, color: faint, align: middle}, Width/2, 345)
		return
	}
	c.write(text{words: ":", font: c.bold, size: 80, width: 60, color: faint, align: middle}, Width/2, 345)
	for i, at := range []float64{Width/2 - 95, Width/2 + 95} {
		own, other := m.Seats[i].Points, m.Seats[1-i].Points
		shade := ink
		if own < other {
			shade = faint
		}
		c.write(text{words: points(own), font: c.bold, size: 120, width: 150, color: shade, align: middle}, at, 360)
	}
}

func placed(m arena.Match, s arena.Seat) string {
	if m.Status != arena.MatchFinished || s.Place == 0 {
		return ""
	}
	first := 0
	for _, other := range m.Seats {
		if other.Place == 1 {
			first++
		}
	}
	switch {
	case s.Place == 1 && first > 1:
		return "a draw"
	case s.Place == 1:
		return "wins"
	}
	return ""
}

// many shows all marks in a grid, and beside it who leads.
func (c *canvas) many(m arena.Match) {
	const box, top = 560.0, 190.0
	const high = Height - top - margin
	columns := math.Ceil(math.Sqrt(float64(len(m.Seats)) * box / high))
	rows := math.Ceil(float64(len(m.Seats)) / columns)
	cell := min(box/columns, high/rows, 130)
	for i, s := range m.Seats {
		row, column := math.Floor(float64(i)/columns), math.Mod(float64(i), columns)
		markOf(s.AgentID).paint(c.img, margin+column*cell, top+row*cell, cell*0.88)
	}
	const left = margin + box + 48
	c.write(text{words: fmt.Sprintf("%d agents", len(m.Seats)), font: c.bold, size: 44, width: Width - margin - left, color: ink}, left, top+40)
	if m.Round == 0 {
		return
	}
	seats := slices.Clone(m.Seats)
	slices.SortStableFunc(seats, func(a, b arena.Seat) int {
		return cmp.Or(cmp.Compare(max(a.Place, 1), max(b.Place, 1)), cmp.Compare(b.Points, a.Points))
	})
	for i, s := range seats[:min(4, len(seats))] {
		y := top + 116 + float64(i)*72
		fill(c.img, line, []point{{left, y - 48}, {Width - margin, y - 48}, {Width - margin, y - 46}, {left, y - 46}})
		c.write(text{words: c.name(s), font: c.regular, size: 32, width: Width - margin - left - 110, color: ink}, left, y)
		c.write(text{words: points(s.Points), font: c.bold, size: 32, width: 100, color: ink, align: end}, Width-margin, y)
	}
}

// name is a seat's name as far as the fonts can show it, else the end of its id.
func (c *canvas) name(s arena.Seat) string {
	if name, ok := plain(c.bold, s.Name); ok {
		return name
	}
	return "agent …" + s.AgentID[max(0, len(s.AgentID)-6):]
}

// points are written as on the pages: 3, 0.5, 0.33.
func points(p arena.Points) string {
	return strconv.FormatFloat(math.Round(float64(p)/float64(arena.OnePoint)*100)/100, 'f', -1, 64)
}
