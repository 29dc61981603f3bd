package agora_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/agora-arena/arena/protocol/agora"
)

// What agents ask first is understood in both languages. The sentences are not
// those that the patterns were made from.
func TestWords_sentences(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/sentences.json")
	must(t, err)
	var sentences []struct{ Say, Intent, Language string }
	must(t, json.Unmarshal(data, &sentences))
	count := map[string]int{}
	for _, s := range sentences {
		count[s.Language]++
		count[s.Language+" "+s.Intent]++
		intent, language := agora.Understand(t, s.Say)
		if intent != s.Intent || s.Intent != "" && language != s.Language {
			t.Errorf("%q is %q in %s, want %q in %s", s.Say, intent, language, s.Intent, s.Language)
		}
	}
	for _, language := range []string{"en", "es"} {
		if count[language] < 30 {
			t.Errorf("%d sentences in %s", count[language], language)
		}
		for _, intent := range agora.Intents(t) {
			if count[language+" "+intent] < 3 {
				t.Errorf("%d sentences for %q in %s", count[language+" "+intent], intent, language)
			}
		}
	}
}

// Both languages have the same intents and the same texts with the same
// placeholders.
func TestWords_books(t *testing.T) {
	t.Parallel()
	en, es := agora.Placeholders(t, "en"), agora.Placeholders(t, "es")
	for key, names := range en {
		if es[key] != names {
			t.Errorf("%s has %q in English and %q in Spanish", key, names, es[key])
		}
	}
	if len(en) != len(es) || len(en) < 20 {
		t.Errorf("%d texts in English, %d in Spanish", len(en), len(es))
	}
}

// A reply is in the language of the question; what is not understood gets help in
// both.
func TestServer_words_languages(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	base := f.base("ag_a")
	for _, c := range []struct{ path, say, want string }{
		{"/agora", "What is this?", "This is Agora Arena. AI agents register here"},
		{"/agora", "¿Qué es esto?", "Esto es Agora Arena. Aquí los agentes de IA"},
		{"/agora", "Which leagues are there?", "Sums (sums): frozen, swiss, an open end of 10 seconds, judged by number."},
		{"/agora", "¿Qué ligas hay?", "Sums (sums): con la tabla oculta, sistema suizo, final abierto de 10 segundos, con el juez number."},
		{"/agora", "Register me", "To register, send {"},
		{"/agora", "Regístrame", `Para registrarte, envía {"name": "…"`},
		{"/agora", "Regístrame", doc(t, "registration").Hash()},
		{"/agora", "¿Cuáles son las reglas de trivia?", "un milisegundo tarde es tarde"},
		{"/agora", "Who leads trivia?", "Ann leads General Trivia with a rating of 1620.500?.\nStandings of General Trivia:\n1. Ann"},
		{"/agora", "¿Quién va primero en trivia?", "Ann lidera General Trivia con un Elo de 1620.500?.\nClasificación de General Trivia:\n1. Ann, 1620.500? tras 12 partidas puntuadas"},
		{"/agora", "¿Quién va primero?", "¿De qué liga? Hay estas: trivia, sums."},
		{"/agora", "¿Quién va primero en sums?", "La tabla de Sums está oculta por ahora."},
		{"/agora", "What is my rating?", "Whose rating? Name an agent"},
		{"/agora", "¿Cuál es mi puntuación?", "¿La puntuación de quién?"},
		{"/agora", "What is my rating? I am Bob.", "Bob in General Trivia: 1500.000 after 30 rated matches, not ranked yet."},
		{base, "What is my rating? Is it above that of Bob?", "Ann in General Trivia: 1620.500? after 12 rated matches, rank 1."},
		{base, "¿Cuál es mi puntuación en trivia?", "Ann en General Trivia: 1620.500? tras 12 partidas puntuadas, puesto 1."},
		{"/agora", "When is the next match?", "The next match in trivia starts at 2026-11-21 18:00 (UTC): Ann against Bob."},
		{"/agora", "¿Cuándo es la próxima partida de trivia?", "La próxima partida de trivia empieza a las 2026-11-21 18:00 (UTC): Ann contra Bob."},
		{"/agora", "the next match in sums?", "No match is scheduled."},
		{"/agora", "¿Qué partidas hay en directo?", "m_1 en trivia, en curso, ronda 2: Ann (1.5) contra Bob (0.5)"},
	} {
		text, err := json.Marshal(c.say)
		must(t, err)
		if a := f.post(c.path, `{"protocolHash":null,"body":`+string(text)+`}`); !a.says(c.want) || strings.Contains(*a.Body, "{t") {
			t.Errorf("%q: %s, want %s", c.say, a.Raw, c.want)
		}
	}
	for _, say := range []string{"", "lorem ipsum", "¿Cuál es la capital de Francia?"} {
		a := f.post("/agora", `{"body":"`+say+`"}`)
		if !a.says("Ask for the standings of a league") || !a.says("Pregunta por la clasificación de una liga") || !a.says("https://arena.example/agora/wellknown") {
			t.Errorf("%q: %s", say, a.Raw)
		}
	}
}

// A league that completes an earlier question of the conversation is its answer.
func TestServer_words_completed(t *testing.T) {
	t.Parallel()
	f := newFront(t)
	for _, c := range []struct{ question, which, league, want string }{
		{"¿Quién va primero?", "¿De qué liga?", "trivia", "Ann lidera General Trivia"},
		{"show the standings", "Of which league?", "General Trivia!", "Standings of General Trivia"},
	} {
		first := f.post("/agora", `{"protocolHash":null,"body":"`+c.question+`","multiround":true}`)
		if !first.says(c.which) {
			t.Fatalf("%s: %s", c.question, first.Raw)
		}
		at := "/agora/conversations/" + first.ID
		if a := f.post(at, `{"status":"success","body":"`+c.league+`"}`); !a.says(c.want) {
			t.Errorf("%s: %s", c.league, a.Raw)
		}
		if a := f.post(at, `{"status":"success","body":"`+c.league+`"}`); !a.says("Ask for the standings") {
			t.Errorf("%s once more: %s", c.league, a.Raw)
		}
	}
}
