package scoring

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// The limits of a pattern of the judge regex and of the text that it is matched
// with. Their product bounds the cost of one answer.
const (
	MaxPattern      = 1_000    // bytes
	MaxPatternSteps = 1_000    // RE2 instructions
	maxMatched      = 16 << 10 // bytes of an answer
)

// anyPattern reports whether an accepted pattern matches the whole answer, in one
// of its readings, without surrounding space.
func anyPattern(patterns []string, answer string) bool {
	return slices.ContainsFunc(readings(answer, false), func(reading string) bool {
		reading = strings.TrimSpace(reading)
		return len(reading) <= maxMatched && slices.ContainsFunc(patterns, func(p string) bool {
			whole, err := compilePattern(p)
			return err == nil && whole.MatchString(reading)
		})
	})
}

// compilePattern compiles an RE2 pattern to match whole texts only. The pattern
// must be valid before it is wrapped in a group, which "a)|(b" is not. The error
// describes why a pattern cannot be used.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > MaxPattern {
		return nil, fmt.Errorf("a pattern of %d bytes, the limit is %d", len(pattern), MaxPattern)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("not an RE2 pattern: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("not an RE2 pattern: %w", err)
	}
	if n := len(program.Inst); n > MaxPatternSteps {
		return nil, fmt.Errorf("a pattern of %d instructions, the limit is %d", n, MaxPatternSteps)
	}
	whole, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("not an RE2 pattern: %w", err)
	}
	return whole, nil
}
