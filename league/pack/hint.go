package pack

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agora-arena/arena/internal/plaintext"
)

// synonyms returns the names that question sets use for the members of the
// arena's own formats, most usual first. Names are in the form of plainName.
func synonyms() map[string][]string {
	return map[string][]string{
		"description": {
			"description", "question", "questiontext", "prompt", "problem", "query", "stem", "questionstem", "input", "sentence", "goal", "claim", "text", "ctx",
		},
		"context": {
			"article", "passage", "context", "support", "story", "background", "paragraph", "para", "document", "dialogue", "dialog", "conversation",
			"narrative", "scenario", "situation", "vignette", "excerpt", "stimulus", "transcript", "premise", "readingpassage", "sourcetext", "text", "ctx",
		},
		"options": {
			"options", "choices", "alternatives", "answeroptions", "answerchoices", "mcqoptions", "possibleanswers", "candidates", "endings", "option", "choice",
		},
		"answer": {
			"answer", "correctanswer", "answerkey", "correct", "label", "rightanswer", "correctoption", "answerindex", "answeridx", "correctanswerindex",
			"correctindex", "correctidx", "correctoptionindex", "correctchoice", "correctletter", "answerletter", "correctanswerid", "answerid", "answernumber", "cop",
			"correctanswers", "rightanswers", "correctoptions", "key", "gold", "goldanswer", "groundtruth", "expectedanswer", "finalanswer", "target", "solution", "result", "answers",
		},
		"topic":         {"topic", "subject", "category", "domain", "subjectname"},
		"difficulty":    {"difficulty", "level"},
		"input_format":  {"inputformat"},
		"output_format": {"outputformat"},
		"max_tokens":    {"maxtokens"},
		"rules":         {"rules"},
	}
}

// plainName reduces a name to its letters and digits in lower case, so that
// "Correct Answer" and "correct_answer" are one.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// listedNames is how many names an error lists.
const listedNames = 40

// unknownName describes a name that a format does not have, with the known
// names and the nearest of them.
func unknownName(kind, name string, known []string) error {
	hint := ""
	if near := nearest(name, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	more := ""
	if len(known) > listedNames {
		known, more = known[:listedNames], fmt.Sprintf(" and %d more", len(known)-listedNames)
	}
	return fmt.Errorf("the %s %q is not known; %schoose from %s%s", kind, clip(name), hint, strings.Join(known, ", "), more)
}

// nearest returns the known name that was probably meant: one with the same
// meaning, or one with few letters changed; "" if there is none.
func nearest(name string, known []string) string {
	plain := plainName(name)
	if plain == "" {
		return ""
	}
	for _, k := range known {
		if plainName(k) == plain || slices.Contains(synonyms()[k], plain) {
			return k
		}
	}
	best, least := "", len(plain)/3+1
	for _, k := range known {
		if d := plaintext.Distance(plain, plainName(k), least); d < least {
			best, least = k, d
		}
	}
	return best
}
