package pack_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/league/pack"
)

// What is wrong with a task names its field and the limit.
func TestCheck(t *testing.T) {
	t.Parallel()
	good := arena.Task{Description: "2+2?", Answers: []string{"4"}}
	limits := pack.DefaultLimits()
	for _, task := range []arena.Task{good, {Description: "Cats or dogs?"}, {Description: "2+2?", Answers: []string{"4"}, Options: []string{"3", "4"}}} {
		if err := pack.Check(task, limits); err != nil {
			t.Errorf("%+v: %v", task, err)
		}
	}
	for field, cases := range map[string]map[string]func(*arena.Task){
		"description": {
			"empty":     func(t *arena.Task) { t.Description = " " },
			"8192":      func(t *arena.Task) { t.Description = strings.Repeat("x", 8193) },
			"U+0007":    func(t *arena.Task) { t.Description = "\a" },
			"not UTF-8": func(t *arena.Task) { t.Description = "\xff" },
		},
		"answer": {
			"is empty":      func(t *arena.Task) { t.Answers = []string{"4", " "} },
			"limit is 64":   func(t *arena.Task) { t.Answers = make([]string, 65) },
			"limit is 512":  func(t *arena.Task) { t.Answers = []string{strings.Repeat("x", 513)} },
			"not among the": func(t *arena.Task) { t.Options = []string{"5", "6"} },
		},
		"options": {
			"needs two":       func(t *arena.Task) { t.Options = []string{"4"} },
			"limit is 26":     func(t *arena.Task) { t.Options = make([]string, 27) },
			"option B is":     func(t *arena.Task) { t.Options = []string{"4", ""} },
			"are the same":    func(t *arena.Task) { t.Options = []string{"4", "b", " B"} },
			"limit is 512":    func(t *arena.Task) { t.Options = []string{"4", strings.Repeat("x", 513)} },
			"the control cha": func(t *arena.Task) { t.Options = []string{"4", "\x00"} },
		},
		"topic":      {"limit is 128": func(t *arena.Task) { t.Topic = strings.Repeat("x", 129) }},
		"difficulty": {"limit is 128": func(t *arena.Task) { t.Difficulty = strings.Repeat("x", 129) }},
	} {
		for says, edit := range cases {
			task := good
			edit(&task)
			e, ok := errors.AsType[*arena.Error](pack.Check(task, limits))
			if !ok || e.Code != arena.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Field != field || !strings.Contains(e.Fields[0].Message, says) {
				t.Errorf("%s, %s: %+v", field, says, e)
			}
		}
	}
}
