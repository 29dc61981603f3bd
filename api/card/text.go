package card

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// align is which part of a text stands at the given x.
type align float64

const (
	start  align = 0
	middle align = 0.5
	end    align = 1
)

// text is one line of words.
type text struct {
	words string
	font  *sfnt.Font
	size  float64 // pixels; less when the words are wider than width
	width float64 // pixels
	color color.Color
	align align
}

// smallest is the size down to which words are made smaller before they are
// cut, as a share of their size.
const smallest = 0.6

// paint writes the line with its base at y.
func (t text) paint(img draw.Image, x, y float64) error {
	face, words, err := t.fit()
	if err != nil {
		return fmt.Errorf("font at %g px: %w", t.size, err)
	}
	defer func() { _ = face.Close() }()
	left := x - float64(t.align)*wide(face, words)
	d := font.Drawer{Dst: img, Src: image.NewUniform(t.color), Face: face, Dot: fixed.P(int(left), int(y))}
	d.DrawString(words)
	return nil
}

// fit makes the words smaller, and if that is not enough cuts them.
func (t text) fit() (font.Face, string, error) {
	face, err := opentype.NewFace(t.font, &opentype.FaceOptions{Size: t.size, DPI: 72})
	if err != nil {
		return nil, "", err
	}
	have := wide(face, t.words)
	if have <= t.width {
		return face, t.words, nil
	}
	_ = face.Close()
	if face, err = opentype.NewFace(t.font, &opentype.FaceOptions{Size: t.size * max(smallest, t.width/have), DPI: 72}); err != nil {
		return nil, "", err
	}
	cut := []rune(t.words)
	for words := t.words; ; words = strings.TrimSpace(string(cut)) + "…" {
		if wide(face, words) <= t.width+1 || len(cut) == 0 {
			return face, words, nil
		}
		cut = cut[:len(cut)-1]
	}
}

func wide(f font.Face, words string) float64 { return float64(font.MeasureString(f, words)) / 64 }

// plain returns what a font can show of a name as letters in a row: no controls,
// nothing that turns the direction, no letter that the font lacks. A name of
// which too little is left is not shown at all.
func plain(f *sfnt.Font, name string) (string, bool) {
	var b strings.Builder
	var buf sfnt.Buffer
	letters, lost := 0, 0
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
			continue
		case !unicode.IsGraphic(r), unicode.Is(unicode.Mn, r), unicode.Is(unicode.Cf, r):
			continue
		}
		letters++
		if i, err := f.GlyphIndex(&buf, r); err != nil || i == 0 {
			lost++
			continue
		}
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " "), letters > 0 && 2*lost < letters
}
