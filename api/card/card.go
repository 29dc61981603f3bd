package card

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"slices"
	"strconv"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/visibility"
)

// The size of a card in pixels: what sites that show previews ask for.
const (
	Width  = 1200
	Height = 630
)

const margin = 72

// The colours of the pages in the dark.
const (
	background tone = 0x090a0d
	raised     tone = 0x14171d
	line       tone = 0x3a4150
	ink        tone = 0xf3f4f7
	faint      tone = 0x8a92a3
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

// Draw returns the card of a match as a PNG of Width by Height. league is the
// title of its league, chosen the marks that owners have chosen, by agent, and
// state the public state of its game as spectators see it now; without a state
// that can be drawn the card has the seats alone.
func (p *Painter) Draw(visible visibility.Match, league string, chosen map[string]string, state json.RawMessage) ([]byte, error) {
	m := visible.Row()
	c := p.canvas(chosen)
	c.head(league, standing(m))
	position, drawn := positionOf(state)
	switch {
	case drawn:
		c.played(m, position)
	case len(m.Seats) == 2:
		c.duel(m)
	default:
		c.many(m)
	}
	picture, err := c.encode()
	if err != nil {
		return nil, fmt.Errorf("card of match %s: %w", m.ID, err)
	}
	return picture, nil
}

// canvas is one card being drawn; the first error stays.
type canvas struct {
	*Painter
	img    *image.RGBA
	chosen map[string]string // marks, by agent
	err    error
}

// canvas returns an empty card.
func (p *Painter) canvas(chosen map[string]string) *canvas {
	c := &canvas{Painter: p, chosen: chosen, img: image.NewRGBA(image.Rect(0, 0, Width, Height))}
	draw.Draw(c.img, c.img.Bounds(), image.NewUniform(background), image.Point{}, draw.Src)
	return c
}

// encode returns the card as a PNG, or the first error of drawing it.
func (c *canvas) encode() ([]byte, error) {
	if c.err != nil {
		return nil, fmt.Errorf("draw: %w", c.err)
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(&out, paletted(c.img)); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return out.Bytes(), nil
}

// paletted returns an opaque picture with a palette, which takes a third of the
// time to encode. Areas keep their color. Other colors, which occur at the edges of
// letters, are merged with the first color that differs from them in the last bits
// only. A picture that still has more than 256 colors is returned unchanged.
func paletted(img *image.RGBA) image.Image {
	const (
		area = 8 // pixels of one color in a row
		bits = 4 // of red, green and blue, by which edges are told apart
		mask = 1<<bits - 1
	)
	p := image.NewPaletted(img.Bounds(), nil)
	indexes := map[uint32]int{}
	add := func(pixel uint32) int {
		p.Palette = append(p.Palette, color.RGBA{R: byte(pixel), G: byte(pixel >> 8), B: byte(pixel >> 16), A: 0xff}) //nolint:gosec // G115: each byte of the pixel
		return len(p.Palette) - 1
	}
	var last uint32
	row := 0
	for i := 0; i < len(img.Pix); i += 4 {
		pixel := binary.LittleEndian.Uint32(img.Pix[i:])
		if pixel != last {
			last, row = pixel, 0
		}
		if row++; row == area {
			if _, known := indexes[pixel]; !known {
				indexes[pixel] = add(pixel)
			}
		}
	}
	var edges [1 << (3 * bits)]int // index + 1
	index := -1
	for i := range p.Pix {
		pixel := binary.LittleEndian.Uint32(img.Pix[4*i:])
		if pixel != last || index < 0 {
			last = pixel
			var known bool
			if index, known = indexes[pixel]; !known {
				edge := &edges[pixel>>(8-bits)&mask|pixel>>(16-2*bits)&(mask<<bits)|pixel>>(24-3*bits)&(mask<<(2*bits))]
				if *edge == 0 {
					*edge = add(pixel) + 1
				}
				index = *edge - 1
			}
			if len(p.Palette) > math.MaxUint8+1 {
				return img
			}
		}
		p.Pix[i] = byte(index) //nolint:gosec // G115: at most 256 colors
	}
	return p
}

func (c *canvas) write(t text, x, y float64) {
	if c.err == nil {
		c.err = t.paint(c.img, x, y)
	}
}

// head writes the name of the arena, the title of a league and a line below it.
func (c *canvas) head(league, state string) {
	c.write(text{words: "Agora Arena", font: c.bold, size: 30, width: 300, color: faint}, margin, 96)
	if title, ok := plain(c.bold, league); ok {
		c.write(text{words: title, font: c.bold, size: 40, width: 620, color: ink, align: end}, Width-margin, 90)
	}
	c.write(text{words: state, font: c.regular, size: 28, width: 620, color: faint, align: end}, Width-margin, 132)
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
		c.mark(s.AgentID, x-size/2, 210, size)
		c.write(text{words: c.name(s.Name, s.AgentID), font: c.bold, size: 44, width: column, color: ink, align: middle}, x, 490)
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

// The card of many agents has a grid of marks on the left, and a list on the
// right.
const (
	gridWidth = 560.0
	gridTop   = 190.0
	listLeft  = margin + gridWidth + 48
)

// marks shows the marks of agents in a grid.
func (c *canvas) marks(ids []string) {
	const high = Height - gridTop - margin
	columns := math.Ceil(math.Sqrt(float64(len(ids)) * gridWidth / high))
	rows := math.Ceil(float64(len(ids)) / columns)
	cell := min(gridWidth/columns, high/rows, 130)
	for i, id := range ids {
		row, column := math.Floor(float64(i)/columns), math.Mod(float64(i), columns)
		c.mark(id, margin+column*cell, gridTop+row*cell, cell*0.88)
	}
}

// row writes a row of the list, which is 0-based, with a line above it.
func (c *canvas) row(i int, name, figure string) {
	y := gridTop + 116 + float64(i)*72
	fill(c.img, line, rectangle(listLeft, y-48, Width-margin, y-46))
	c.write(text{words: name, font: c.regular, size: 32, width: Width - margin - listLeft - 110, color: ink}, listLeft, y)
	c.write(text{words: figure, font: c.bold, size: 32, width: 100, color: ink, align: end}, Width-margin, y)
}

// many shows all marks, and beside them who leads.
func (c *canvas) many(m arena.Match) {
	ids := make([]string, len(m.Seats))
	for i, s := range m.Seats {
		ids[i] = s.AgentID
	}
	c.marks(ids)
	c.write(text{words: agents(len(m.Seats)), font: c.bold, size: 44, width: Width - margin - listLeft, color: ink}, listLeft, gridTop+40)
	if m.Round == 0 {
		return
	}
	for i, s := range leaders(m.Seats)[:min(4, len(m.Seats))] {
		c.row(i, c.name(s.Name, s.AgentID), points(s.Points))
	}
}

// leaders returns the seats, the best first.
func leaders(seats []arena.Seat) []arena.Seat {
	seats = slices.Clone(seats)
	slices.SortStableFunc(seats, func(a, b arena.Seat) int {
		return cmp.Or(cmp.Compare(max(a.Place, 1), max(b.Place, 1)), cmp.Compare(b.Points, a.Points))
	})
	return seats
}

// name returns the name of an agent as far as the fonts can show it, else the
// end of its id.
func (c *canvas) name(name, id string) string {
	if shown, ok := plain(c.bold, name); ok {
		return shown
	}
	return "agent …" + id[max(0, len(id)-6):]
}

// points are written as on the pages: 3, 0.5, 0.33.
func points(p arena.Points) string {
	return strconv.FormatFloat(math.Round(float64(p)/float64(arena.OnePoint)*100)/100, 'f', -1, 64)
}
