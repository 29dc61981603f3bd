package card

// transcript is a conversation with offers.
type transcript struct {
	Lines []remark `json:"lines"` // oldest first
	Facts []remark `json:"facts"`
}

// maxLines is how many lines of a conversation are drawn: the last ones.
const maxLines = 4

func (g *transcript) valid() bool { return len(g.Lines)+len(g.Facts) > 0 }

func (g *transcript) color(player int) tone { return playerColor(player) }

// paint draws the last lines as bubbles: those of the first player on the left,
// all others on the right.
func (g *transcript) paint(c *canvas) {
	lines := g.Lines[max(0, len(g.Lines)-maxLines):]
	facts := g.Facts
	if len(lines) > 0 {
		facts = facts[:min(len(facts), 1)]
	}
	y := boardTop
	for _, f := range facts[:min(len(facts), maxLines)] {
		c.label(f.Text, text{font: c.regular, size: 26, width: boardWidth, color: faint}, boardLeft, y+28)
		y += 46
	}
	if len(lines) == 0 {
		return
	}
	const wide = boardWidth * 0.86
	step := (boardEnd - y) / maxLines
	for i, l := range lines {
		left, top := boardLeft, y+step*float64(i)
		if l.Player != 0 {
			left = boardRight - wide
		}
		c.frame(left, top, left+wide, top+step-10, raised)
		fill(c.img, playerColor(l.Player), rectangle(left, top, left+8, top+step-10))
		shown, said := plain(c.regular, string(l.Text))
		offer, offers := plain(c.bold, string(l.Offer))
		spoken := text{words: shown, font: c.regular, size: 26, width: wide - 44, color: ink}
		offered := text{words: offer, font: c.bold, size: 26, width: wide - 44, color: playerColor(l.Player)}
		middle := top + (step-10)/2 + 9
		switch {
		case said && offers:
			c.write(spoken, left+26, middle-17)
			c.write(offered, left+26, middle+19)
		case offers:
			c.write(offered, left+26, middle)
		case said:
			c.write(spoken, left+26, middle)
		}
	}
}
