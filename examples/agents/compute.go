package agents

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
)

// sum is an expression with its exact value and the steps to it.
type sum struct {
	expression string
	result     *big.Rat
	steps      []string // "12 + 7 = 19", at least one
	slipped    bool     // the last step is a mistake
}

func (s *sum) value() string { return number(s.result) }

// number writes a decimal where it ends, else a fraction.
func number(r *big.Rat) string {
	if n, exact := r.FloatPrec(); exact && n <= 8 {
		return r.FloatString(n)
	}
	return r.RatString()
}

// What a question may be: an expression and few words around it, so that
// "Who won the war of 1914-1918?" is none.
const (
	maxWordsAround = 8
	maxQuestion    = 1000 // bytes
	maxDepth       = 40
	maxDigits      = 20
)

// Patterns for what strings.Replacer cannot do.
var (
	crossAsTimes = regexp.MustCompile(`([\d)])\s*[xX]\s*([\d(])`)
	thousands    = regexp.MustCompile(`(\d),(\d{3})\b`)
	expressions  = regexp.MustCompile(`[-+(\d][-+*/().\d\s]*`)
)

// compute finds and evaluates the expression in a question: numbers, + - * /
// in their usual spellings and words, and brackets.
func compute(question string) (*sum, bool) {
	if len(question) > maxQuestion {
		return nil, false
	}
	text := strings.NewReplacer(
		"−", "-", "–", "-", "×", "*", "·", "*", "⋅", "*", "÷", "/", "∕", "/",
		" plus ", " + ", " minus ", " - ", " multiplied by ", " * ", " times ", " * ", " divided by ", " / ",
	).Replace(question)
	text = crossAsTimes.ReplaceAllString(crossAsTimes.ReplaceAllString(text, "$1 * $2"), "$1 * $2") // twice: 2 x 3 x 4 overlaps
	text = thousands.ReplaceAllString(text, "$1$2")

	var longest string
	for _, found := range expressions.FindAllString(text, -1) {
		if found = strings.TrimRight(found, " \t\n."); len(found) > len(longest) {
			longest = found
		}
	}
	around := strings.Fields(strings.Replace(text, longest, " ", 1))
	if longest == "" || len(around) > maxWordsAround {
		return nil, false
	}
	p := parser{text: longest}
	result, err := p.sum(0)
	if err != nil || p.peek() != 0 || len(p.steps) == 0 {
		return nil, false
	}
	return &sum{expression: longest, result: result, steps: p.steps}, true
}

var errNotASum = errors.New("not an expression")

// parser reads an expression by recursive descent and notes its steps.
type parser struct {
	text  string
	at    int
	steps []string
}

// peek returns the next character that is not a space, 0 at the end.
func (p *parser) peek() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) sum(depth int) (*big.Rat, error) {
	return p.chain("+-", func() (*big.Rat, error) { return p.product(depth) })
}

func (p *parser) product(depth int) (*big.Rat, error) {
	return p.chain("*/", func() (*big.Rat, error) { return p.factor(depth) })
}

// chain reads operands joined by the given operators, from left to right.
func (p *parser) chain(operators string, operand func() (*big.Rat, error)) (*big.Rat, error) {
	left, err := operand()
	for err == nil && strings.IndexByte(operators, p.peek()) >= 0 {
		operator := p.peek()
		p.at++
		var right *big.Rat
		if right, err = operand(); err == nil {
			left, err = p.step(left, operator, right)
		}
	}
	return left, err
}

func (p *parser) step(left *big.Rat, operator byte, right *big.Rat) (*big.Rat, error) {
	result, sign := new(big.Rat), "÷"
	switch operator {
	case '+':
		result, sign = result.Add(left, right), "+"
	case '-':
		result, sign = result.Sub(left, right), "−"
	case '*':
		result, sign = result.Mul(left, right), "×"
	default:
		if right.Sign() == 0 {
			return nil, errNotASum
		}
		result.Quo(left, right)
	}
	p.steps = append(p.steps, number(left)+" "+sign+" "+number(right)+" = "+number(result))
	return result, nil
}

func (p *parser) factor(depth int) (*big.Rat, error) {
	if depth > maxDepth {
		return nil, errNotASum
	}
	switch c := p.peek(); c {
	case '-', '+':
		p.at++
		r, err := p.factor(depth + 1)
		if err == nil && c == '-' {
			r = new(big.Rat).Neg(r)
		}
		return r, err
	case '(':
		p.at++
		r, err := p.sum(depth + 1)
		if err == nil && p.peek() != ')' {
			err = errNotASum
		}
		p.at++
		return r, err
	default:
		start := p.at
		for p.at < len(p.text) && (p.text[p.at] == '.' || p.text[p.at] >= '0' && p.text[p.at] <= '9') {
			p.at++
		}
		digits := p.text[start:p.at]
		if digits == "" || len(digits) > maxDigits {
			return nil, errNotASum
		}
		r, ok := new(big.Rat).SetString(digits)
		if !ok {
			return nil, errNotASum
		}
		return r, nil
	}
}
