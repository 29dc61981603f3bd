package pack

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/agora-arena/arena/arena"
)

// conversion converts a measure to another unit: times factor, plus offset.
type conversion struct {
	from, to       string
	factor, offset string // exact; "9/5", "0.3048"
	fact           string // hint with which it can be computed
}

func metric() []conversion {
	return []conversion{
		{from: "kilometres", to: "metres", factor: "1000"},
		{from: "metres", to: "centimetres", factor: "100"},
		{from: "centimetres", to: "millimetres", factor: "10"},
		{from: "kilograms", to: "grams", factor: "1000"},
		{from: "tonnes", to: "kilograms", factor: "1000"},
		{from: "litres", to: "millilitres", factor: "1000"},
		{from: "hectares", to: "square metres", factor: "10000"},
		{from: "hours", to: "minutes", factor: "60"},
		{from: "minutes", to: "seconds", factor: "60"},
		{from: "days", to: "hours", factor: "24"},
	}
}

func metricUp() []conversion {
	return []conversion{
		{from: "metres", to: "kilometres", factor: "1/1000"},
		{from: "centimetres", to: "metres", factor: "1/100"},
		{from: "millimetres", to: "centimetres", factor: "1/10"},
		{from: "grams", to: "kilograms", factor: "1/1000"},
		{from: "kilograms", to: "tonnes", factor: "1/1000"},
		{from: "millilitres", to: "litres", factor: "1/1000"},
		{from: "square metres", to: "hectares", factor: "1/10000"},
	}
}

// imperial units by their definition.
func imperial() []conversion {
	return []conversion{
		{from: "inches", to: "centimetres", factor: "2.54", fact: "An inch is 2.54 centimetres."},
		{from: "feet", to: "metres", factor: "0.3048", fact: "A foot is 0.3048 metres."},
		{from: "yards", to: "metres", factor: "0.9144", fact: "A yard is 0.9144 metres."},
		{from: "international miles", to: "kilometres", factor: "1.609344", fact: "An international mile is 1.609344 kilometres."},
		{from: "nautical miles", to: "kilometres", factor: "1.852", fact: "A nautical mile is 1.852 kilometres."},
		{from: "avoirdupois pounds", to: "kilograms", factor: "0.45359237", fact: "An avoirdupois pound is 0.45359237 kilograms."},
		{from: "US liquid gallons", to: "litres", factor: "3.785411784", fact: "A US liquid gallon is 3.785411784 litres."},
		{from: "imperial gallons", to: "litres", factor: "4.54609", fact: "An imperial gallon is 4.54609 litres."},
		{
			from: "degrees Celsius", to: "degrees Fahrenheit", factor: "9/5", offset: "32",
			fact: "Degrees Fahrenheit are degrees Celsius times 9/5, plus 32.",
		},
	}
}

// harder returns conversions of squares and speeds, and inverse conversions.
func harder() []conversion {
	return []conversion{
		{from: "square feet", to: "square metres", factor: "0.09290304"},
		{from: "square inches", to: "square centimetres", factor: "6.4516"},
		{from: "international acres", to: "square metres", factor: "4046.8564224"},
		{from: "international miles per hour", to: "metres per second", factor: "0.44704"},
		{from: "kilometres per hour", to: "metres per second", factor: "5/18"},
		{from: "kilometres", to: "international miles", factor: "1000000/1609344"},
		{from: "kilograms", to: "avoirdupois pounds", factor: "100000000/45359237"},
		{from: "litres", to: "US liquid gallons", factor: "1000000000/3785411784"},
		{from: "degrees Fahrenheit", to: "degrees Celsius", factor: "5/9", offset: "-160/9"},
	}
}

// units returns a task about a measure in another unit. Up to difficulty 3 the
// results are exact and the task explains units that are not metric. At 4 and 5
// results are rounded and nothing is explained.
func units(d dice, difficulty int) arena.Task {
	var c conversion
	var value string
	decimals := -1 // exact
	switch difficulty {
	case 1:
		c, value = oneOf(d, metric()...), strconv.Itoa(d.between(2, 30))
	case 2:
		c, value = oneOf(d, metricUp()...), strconv.Itoa(d.between(2, 4000))
	case 3:
		c, value = oneOf(d, imperial()...), strconv.Itoa(d.between(2, 99))
	case 4:
		c, value, decimals = oneOf(d, imperial()...), fmt.Sprintf("%d.%d", d.between(2, 500), d.between(1, 9)), 2
		c.fact = ""
	default:
		c, value, decimals = oneOf(d, harder()...), fmt.Sprintf("%d.%02d", d.between(2, 5000), d.between(1, 99)), 3
	}
	text := fmt.Sprintf("How much is %s %s in %s?", value, c.from, c.to)
	if c.fact != "" {
		text = c.fact + " " + text
	}
	if decimals >= 0 {
		text += fmt.Sprintf(" Use the exact definitions and round to %d decimals, halves away from zero.", decimals)
	}
	return numberTask(text, c.of(value, decimals))
}

// of returns the measure in the other unit, rounded, or exact for negative
// decimals. No exact result needs more than 12 decimals.
func (c conversion) of(value string, decimals int) string {
	result := rational(value)
	result.Mul(result, rational(c.factor))
	if c.offset != "" {
		result.Add(result, rational(c.offset))
	}
	if decimals >= 0 {
		return result.FloatString(decimals) // halves away from zero
	}
	return strings.TrimRight(strings.TrimRight(result.FloatString(12), "0"), ".")
}

// rational reads a number of the tables above.
func rational(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("not a number: " + s) // an error in a table, which every test would detect
	}
	return r
}
