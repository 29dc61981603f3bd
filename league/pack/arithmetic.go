package pack

import (
	"fmt"
	"strconv"

	"github.com/agora-arena/arena/arena"
)

// arithmetic returns a task about the value of one expression in + - * / and
// brackets.
func arithmetic(d dice, difficulty int) arena.Task {
	e := d.expression(difficulty, difficulty)
	return numberTask("What is "+e.text+"?", strconv.FormatInt(e.value, 10))
}

// expression is a text with its value. loose is its inverse precedence: 0 for a
// number, 1 for a product or quotient, 2 for a sum or difference.
type expression struct {
	text  string
	value int64
	loose int
}

// in returns the text of e as an operand, in brackets if e binds more loosely
// than limit.
func (e expression) in(limit int) string {
	if e.loose > limit {
		return "(" + e.text + ")"
	}
	return e.text
}

// expression returns an expression with the given number of operations. Factors
// and divisors are small, so that values stay small enough for mental arithmetic.
func (d dice) expression(operations, difficulty int) expression {
	if operations == 0 {
		n := d.between(1, 20*difficulty)
		return expression{text: strconv.Itoa(n), value: int64(n)}
	}
	kinds := "+-+-*" // sums are more frequent than products
	switch {
	case difficulty == minDifficulty:
		kinds = "+-"
	case operations == 1 && difficulty > 2:
		kinds = "+-*/"
	}
	switch kind := kinds[d.upTo(len(kinds))]; kind {
	case '/':
		divisor, quotient := d.between(2, 12), d.between(2, 20)
		return expression{
			text: fmt.Sprintf("%d / %d", divisor*quotient, divisor), value: int64(quotient), loose: 1,
		}
	case '*':
		left, factor := d.expression(operations-1, difficulty), d.between(2, 12)
		return expression{
			text: fmt.Sprintf("%s * %d", left.in(1), factor), value: left.value * int64(factor), loose: 1,
		}
	default:
		split := d.upTo(operations)
		left, right := d.expression(split, difficulty), d.expression(operations-1-split, difficulty)
		if kind == '-' {
			return expression{text: left.text + " - " + right.in(1), value: left.value - right.value, loose: 2}
		}
		return expression{text: left.text + " + " + right.text, value: left.value + right.value, loose: 2}
	}
}
