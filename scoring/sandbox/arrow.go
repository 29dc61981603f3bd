package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxArrows   = 500
	maxReadings = 6 // arrow functions that may have others among their parameters
)

// checkArrows refuses what goja's parser, which cannot be interrupted, takes
// too long over. It reads the parameters of an arrow function twice, and so
// those of one among them four times, and so on; what may be the arguments of
// a function called async likewise; and a chain of arrows takes the square of
// its length.
func checkArrows(source string) error {
	parts := strings.Split(source, "=>")
	if n := len(parts) - 1; n > maxArrows {
		return fmt.Errorf("%d arrow functions, the limit is %d", n, maxArrows)
	}
	readings, at := 0, 0
	for _, part := range parts[:len(parts)-1] {
		at += len(part)
		if !plainParameters(source[:at]) {
			readings++
		}
		at += len("=>")
	}
	if readings > maxReadings {
		return fmt.Errorf("%d arrow functions with parameters that are not plain names on one line, the limit is %d", readings, maxReadings)
	}
	if slices.Contains(strings.FieldsFunc(source, func(r rune) bool { return !inName(r) }), "async") {
		return errors.New("async is not available")
	}
	return nil
}

// plainParameters reports whether a text that an arrow follows surely ends
// with parameters that hold no other arrow function: a name, or a bracket
// with neither arrows in it nor anything that could hide one. Strings,
// comments and patterns cannot be told from code without parsing; where one
// might begin or end, nothing is sure.
func plainParameters(before string) bool {
	head := strings.TrimRightFunc(before, unicode.IsSpace)
	if strings.ContainsAny(before[len(head):], "\n\r\u2028\u2029") {
		return false
	}
	if last, _ := utf8.DecodeLastRuneInString(head); inName(last) {
		return true
	}
	var open []byte // closing brackets that wait for their opening ones
	for i := len(head) - 1; i >= 0; i-- {
		switch c := head[i]; c {
		case ')', ']', '}':
			open = append(open, c)
		case '(', '[', '{':
			if len(open) == 0 || strings.IndexByte("([{", c) != strings.IndexByte(")]}", open[len(open)-1]) {
				return false
			}
			open = open[:len(open)-1]
		case '\'', '"', '`', '/', '\\', '>', '\n', '\r':
			return false
		}
		if len(open) == 0 {
			return head[i] == '('
		}
	}
	return false
}

func inName(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }
