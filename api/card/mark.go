package card

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/vector"

	"github.com/agora-arena/arena/arena"
)

// mark is an agent's avatar in two tones, drawn as the pages draw it
// (web/src/lib/avatar.ts): three cells of a 4 by 4 grid, each in four quarter
// turns around the middle.
type mark struct {
	hue, figureHue float64 // degrees
	shapes         [3]int
}

// markOf returns the mark that the owner of an agent has chosen, else the one
// made from its id.
func markOf(id, chosen string) mark {
	if shape, color, ok := arena.AllMarks().Find(chosen); ok {
		return mark{hue: float64(color.Hue), figureHue: float64(color.FigureHue), shapes: shape.Cells}
	}
	random := bits(id)
	m := mark{hue: float64(random(24) * 15)}
	m.figureHue = math.Mod(m.hue+40+float64(random(10)*28), 360)
	for i := range m.shapes {
		m.shapes[i] = random(shapes)
	}
	return m
}

// mark paints the mark of an agent in a square with its corner at x, y.
func (c *canvas) mark(id string, x, y, size float64) {
	markOf(id, c.chosen[id]).paint(c.img, x, y, size)
}

// bits returns numbers below n, always the same for one id: FNV-1a, then
// xorshift, in 32 bits.
func bits(id string) func(n int) int {
	h := uint32(0x811c9dc5)
	for _, c := range []byte(id) { // ids are ASCII
		h = (h ^ uint32(c)) * 0x01000193
	}
	h ^= h >> 15
	if h *= 0x2c1b3c6d; h == 0 {
		h = 1
	}
	return func(n int) int {
		h ^= h << 13
		h ^= h >> 17
		h ^= h << 5
		return int(h % uint32(n)) //nolint:gosec // n is small and positive
	}
}

// shapes is how many shapes there are.
const shapes = 8

type point struct{ x, y float64 }

// rectangle returns the outline of a rectangle from its upper left to its lower
// right corner.
func rectangle(left, top, right, bottom float64) []point {
	return []point{{left, top}, {right, top}, {right, bottom}, {left, bottom}}
}

// shape returns the outline of a shape in a cell of 2 by 2.
func shape(n int) []point {
	switch n {
	case 0:
		return []point{{0, 0}, {2, 0}, {2, 2}}
	case 1:
		return []point{{0, 0}, {2, 0}, {0, 2}}
	case 2:
		return append(arc(0, 2, 2, -math.Pi/2, 0), point{0, 2})
	case 3:
		return append(arc(0, 0, 2, 0, math.Pi/2), point{0, 0})
	case 4:
		return []point{{1, 0}, {2, 1}, {1, 2}, {0, 1}}
	case 5:
		return []point{{0, 0}, {2, 0}, {2, 2}, {0, 2}}
	case 6:
		return []point{{0, 0}, {1, 0}, {1, 2}, {0, 2}}
	default:
		return arc(1, 1, 0.7, 0, 2*math.Pi)
	}
}

// arc is a part of a circle, as a line of short pieces.
func arc(x, y, r, from, to float64) []point {
	const pieces = 24
	points := make([]point, pieces+1)
	for i := range points {
		a := from + (to-from)*float64(i)/pieces
		points[i] = point{x + r*math.Cos(a), y + r*math.Sin(a)}
	}
	return points
}

// paint draws the mark in a square with its corner at x, y.
func (m mark) paint(img draw.Image, x, y, size float64) {
	unit := size / 10 // the figure has 8 of 10, the ground shows around it
	fill(img, oklch(0.36, 0.075, m.hue), rounded(x, y, size, 2.6*unit))
	var figure [][]point
	for i, cell := range []point{{0, 0}, {2, 0}, {2, 2}} {
		for turn := range 4 {
			outline := shape(m.shapes[i])
			for j, p := range outline {
				u, v := p.x+cell.x-4, p.y+cell.y-4
				for range turn {
					u, v = -v, u
				}
				outline[j] = point{x + (u+5)*unit, y + (v+5)*unit}
			}
			figure = append(figure, outline)
		}
	}
	fill(img, oklch(0.85, 0.1, m.figureHue), figure...)
}

// rounded is a square with round corners.
func rounded(x, y, size, r float64) []point {
	var outline []point
	for i, c := range []point{{x + size - r, y + r}, {x + size - r, y + size - r}, {x + r, y + size - r}, {x + r, y + r}} {
		from := float64(i-1) * math.Pi / 2
		outline = append(outline, arc(c.x, c.y, r, from, from+math.Pi/2)...)
	}
	return outline
}

// fill paints what outlines enclose. Only the box around them is looked at.
func fill(img draw.Image, c color.Color, outlines ...[]point) {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, outline := range outlines {
		for _, p := range outline {
			low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
		}
	}
	box := image.Rect(int(math.Floor(low.x)), int(math.Floor(low.y)), int(math.Ceil(high.x)), int(math.Ceil(high.y)))
	z := vector.NewRasterizer(box.Dx(), box.Dy())
	for _, outline := range outlines {
		for i, p := range outline {
			x, y := float32(p.x-float64(box.Min.X)), float32(p.y-float64(box.Min.Y))
			if i == 0 {
				z.MoveTo(x, y)
			} else {
				z.LineTo(x, y)
			}
		}
		z.ClosePath()
	}
	z.Draw(img, box, image.NewUniform(c), image.Point{})
}

// oklch turns lightness, chroma and hue in degrees into sRGB (CSS Color 4,
// section 9), cut to what a screen shows.
func oklch(l, c, h float64) color.RGBA {
	a, b := c*math.Cos(h*math.Pi/180), c*math.Sin(h*math.Pi/180)
	cube := func(x float64) float64 { return x * x * x }
	lms := [3]float64{cube(l + 0.3963377774*a + 0.2158037573*b), cube(l - 0.1055613458*a - 0.0638541728*b), cube(l - 0.0894841775*a - 1.2914855480*b)}
	channel := func(x, y, z float64) uint8 {
		v := x*lms[0] + y*lms[1] + z*lms[2]
		if v <= 0.0031308 {
			v *= 12.92
		} else {
			v = 1.055*math.Pow(v, 1/2.4) - 0.055
		}
		return uint8(math.Round(255 * min(max(v, 0), 1)))
	}
	return color.RGBA{
		R: channel(4.0767416621, -3.3077115913, 0.2309699292),
		G: channel(-1.2684380046, 2.6097574011, -0.3413193965),
		B: channel(-0.0041960863, -0.7034186147, 1.7076147010),
		A: 255,
	}
}
