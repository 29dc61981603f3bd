package card

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// cards is a table with hands of cards or dice.
type cards struct {
	Hands []hand   `json:"hands"` // by player
	Table []word   `json:"table"`
	Pot   int      `json:"pot"`
	Log   []remark `json:"log"` // oldest first
	Hand  int      `json:"hand"`
	Total int      `json:"hands_total"`
}

// hand is what a player holds. A card that spectators must not see is "?".
type hand struct {
	Player int    `json:"player"`
	Cards  []word `json:"cards"`
	Dice   bool   `json:"dice"`
	Chips  int    `json:"chips"`
	Out    bool   `json:"out"`
}

// remark is what a player said or did; Player is −1 for none.
type remark struct {
	Player int  `json:"player"`
	Text   word `json:"text"`
	Offer  word `json:"offer"` // in a transcript
}

// The most hands, and cards of a hand or of the table, that are drawn.
const (
	maxHands = 8
	maxCards = 10
)

func (g *cards) valid() bool { return len(g.Hands) > 0 }

func (g *cards) color(player int) tone { return playerColor(player) }

// paint draws a row for each hand, and below them the table, the pot and what was
// said last.
func (g *cards) paint(c *canvas) {
	const below = 84.0
	hands := g.Hands[:min(len(g.Hands), maxHands)]
	step := min((boardHeight-below)/float64(len(hands)), 150)
	top := boardTop + (boardHeight-below-step*float64(len(hands)))/2
	counted := slices.ContainsFunc(hands, func(h hand) bool { return h.Chips != 0 })
	net := slices.ContainsFunc(hands, func(h hand) bool { return h.Chips < 0 })
	for i, h := range hands {
		y := top + step*float64(i)
		c.frame(boardLeft, y, boardRight, y+step-10, raised)
		fill(c.img, playerColor(h.Player), rectangle(boardLeft, y, boardLeft+8, y+step-10))
		c.cards(h.Cards, h.Dice, boardLeft+30, y+10, boardWidth-190, step-30)
		state := ""
		switch {
		case h.Out:
			state = "out"
		case !h.Dice && counted:
			state = chips(h.Chips, net)
		}
		c.write(text{words: state, font: c.bold, size: min(36, step*0.4), width: 120, color: ink, align: end}, boardRight-26, y+(step-10)/2+12)
	}
	y := boardEnd - below + 8
	left := boardLeft
	if len(g.Table) > 0 {
		left += c.cards(g.Table, false, boardLeft, y, boardWidth/2, below-16) + 24
	}
	var about []string
	if g.Pot > 0 {
		about = append(about, fmt.Sprintf("Pot %d", g.Pot))
	}
	if g.Total > 1 && g.Hand > 0 {
		about = append(about, fmt.Sprintf("Hand %d of %d", g.Hand, g.Total))
	}
	c.write(text{words: strings.Join(about, " · "), font: c.bold, size: 26, width: boardRight - left, color: ink}, left, y+26)
	if n := len(g.Log); n > 0 {
		c.label(g.Log[n-1].Text, text{font: c.regular, size: 26, width: boardRight - left, color: playerColor(g.Log[n-1].Player)}, left, y+62)
	}
}

// cards draws cards or dice in a row and returns its width.
func (c *canvas) cards(list []word, dice bool, left, top, width, height float64) float64 {
	if len(list) > maxCards {
		list = list[:maxCards]
	}
	if len(list) == 0 {
		return 0
	}
	wide := height * 0.72
	if dice {
		wide = height
	}
	const gap = 10.0
	wide = min(wide, (width-gap*float64(len(list)-1))/float64(len(list)))
	if dice {
		top, height = top+(height-wide)/2, wide
	}
	for i, name := range list {
		x := left + (wide+gap)*float64(i)
		c.card(name, dice, x, top, wide, height)
	}
	return (wide+gap)*float64(len(list)) - gap
}

// card draws a card or a die. A hidden one shows its back.
func (c *canvas) card(name word, dice bool, x, y, wide, high float64) {
	if name == "?" {
		c.frame(x, y, x+wide, y+high, cellOdd)
		c.write(text{words: "?", font: c.bold, size: high * 0.5, width: wide - 6, color: faint, align: middle}, x+wide/2, y+high*0.67)
		return
	}
	fill(c.img, white, rectangle(x, y, x+wide, y+high))
	if n, err := strconv.Atoi(string(name)); dice && err == nil && n >= 1 && n <= 6 {
		for _, at := range pips(n) {
			fill(c.img, black, circle(x+wide/2+(math.Mod(float64(at), 3)-1)*wide*0.27, y+high/2+(math.Floor(float64(at)/3)-1)*high*0.27, wide*0.085))
		}
		return
	}
	c.label(name, text{font: c.bold, size: high * 0.5, width: wide - 8, color: black, align: middle}, x+wide/2, y+high*0.67)
}

// pips returns where the pips of a die are on a field of three by three.
func pips(n int) []int {
	return [...][]int{{}, {4}, {0, 8}, {0, 4, 8}, {0, 2, 6, 8}, {0, 2, 4, 6, 8}, {0, 2, 3, 5, 6, 8}}[n]
}

// chips writes the chips of a player. net reports whether they are counted from
// zero, which a loss shows, and are no stack.
func chips(n int, net bool) string {
	switch {
	case n < 0:
		return fmt.Sprintf("−%d", -n)
	case n > 0 && net:
		return fmt.Sprintf("+%d", n)
	}
	return strconv.Itoa(n)
}
