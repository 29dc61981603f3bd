package pack

import (
	"fmt"
	"strconv"

	"github.com/agora-arena/arena/arena"
)

// wordProblem returns a task about one of three stories with as many steps as
// the difficulty. Every number in it is whole.
func wordProblem(d dice, difficulty int) arena.Task {
	stories := []func(dice, int) (string, int){belongings, shopping, factory}
	text, result := oneOf(d, stories...)(d, difficulty)
	return numberTask(text, strconv.Itoa(result))
}

func name(d dice) string {
	return oneOf(d, "Ana", "Ben", "Chen", "Dalia", "Emil", "Fatima", "Goran", "Hana", "Ivan", "Julia", "Kofi", "Luz")
}

// belongings returns a story in which the number of a person's things changes
// step by step.
func belongings(d dice, steps int) (text string, has int) {
	who, thing := name(d), oneOf(d, "marbles", "stickers", "postcards", "shells", "stamps", "pencils", "coins", "buttons")
	has = d.between(10, 30*steps)
	text = fmt.Sprintf("%s has %d %s.", who, has, thing)
	for range steps {
		switch kind := d.upTo(5); {
		case kind == 0:
			n := d.between(2, 30)
			has += n
			text += fmt.Sprintf(" Then %s finds %d more.", who, n)
		case kind == 1 && has > 3:
			n := d.between(2, has-1)
			has -= n
			text += fmt.Sprintf(" Then %s gives %d away.", who, n)
		case kind == 2:
			boxes, each := d.between(2, 9), d.between(2, 12)
			has += boxes * each
			text += fmt.Sprintf(" Then %s buys %d boxes of %d.", who, boxes, each)
		case kind == 3 && has%2 == 0:
			has /= 2
			text += fmt.Sprintf(" Then %s loses half of them.", who)
		default:
			has *= 2
			text += fmt.Sprintf(" Then %s gets as many again.", who)
		}
	}
	return text + fmt.Sprintf(" How many %s does %s have in the end?", thing, who), has
}

// shopping returns a story about the total of a purchase of 1 to 3 kinds of
// goods. From difficulty 3 on it asks for the change, at 5 after a discount.
func shopping(d dice, difficulty int) (text string, result int) {
	who := name(d)
	things := []string{"pens", "notebooks", "apples", "lamps", "cups", "books"}
	d.shuffle(things)
	kinds := [...]int{0, 1, 2, 2, 3, 3}[difficulty]
	cost := 0
	text = who + " buys"
	for i, thing := range things[:kinds] {
		n, price := d.between(2, 4+2*difficulty), d.between(2, 5*difficulty+5)
		cost += n * price
		text += fmt.Sprintf("%s %d %s at %d dollars each", joint(i, kinds), n, thing, price)
	}
	text += "."
	if difficulty < 3 {
		return text + " How many dollars is that in total?", cost
	}
	if difficulty == maxDifficulty {
		off := d.between(2, 10)
		cost -= off
		text += fmt.Sprintf(" A voucher takes %d dollars off the total.", off)
	}
	paid := (cost/50 + 1) * 50
	return text + fmt.Sprintf(" %s pays with %d dollars. How many dollars of change are due?", who, paid), paid - cost
}

// joint returns the separator before the i-th of n items of a list.
func joint(i, n int) string {
	switch {
	case i == 0:
		return ""
	case i == n-1:
		return " and"
	default:
		return ","
	}
}

// factory returns a story about the output of a machine. Each difficulty adds a
// step: a second machine, broken items, boxes, sales.
func factory(d dice, difficulty int) (text string, result int) {
	thing := oneOf(d, "bottles", "tiles", "toys", "candles", "plates")
	rate, minutes := d.between(3, 20), d.between(3, 30)
	made := rate * minutes
	text = fmt.Sprintf("A machine makes %d %s a minute and runs for %d minutes.", rate, thing, minutes)
	if difficulty >= 2 {
		rate, minutes = d.between(3, 20), d.between(3, 30)
		made += rate * minutes
		text += fmt.Sprintf(" A second machine makes %d a minute and runs for %d minutes.", rate, minutes)
	}
	if difficulty < 3 {
		return text + fmt.Sprintf(" How many %s are made in all?", thing), made
	}
	size := d.between(3, 6)
	broken := made%size + size*d.between(0, 1)
	if broken < 2 { // "1 are broken" reads badly
		broken += size
	}
	good := made - broken
	text += fmt.Sprintf(" Of all that are made, %d are broken and thrown away.", broken)
	if difficulty == 3 {
		return text + fmt.Sprintf(" How many %s are left?", thing), good
	}
	boxes := good / size
	text += fmt.Sprintf(" The rest is packed into boxes of %d.", size)
	if difficulty == 4 {
		return text + " How many boxes are filled?", boxes
	}
	price := d.between(4, 40)
	return text + fmt.Sprintf(" Each box is sold for %d dollars. How many dollars do they bring in?", price), boxes * price
}
