package sandbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// What a game may be. A call of its functions may use MaxSteps and MaxMemory.
const (
	MaxGameSource = 256 << 10 // bytes of source
	MaxGameString = 512 << 10 // UTF-16 units of one string, and of a result

	maxGameNodes = 160_000

	gameJS = "game.js"
)

// Game is the source of a game that may be run (docs/games.md). Its interpreter
// is kept between calls: all that calls could share is frozen, and the source
// runs again for each of them, so a call returns what it would return in a new
// interpreter, after as many steps. It is not safe for concurrent use.
type Game struct {
	library *goja.Program
	source  *goja.Program
	kept    *started // nil before the first call, and after one that was ended from outside
}

// CompileGame reads and meters the source of a game. The error says what is
// wrong with the source, in one sentence with the line and the column.
func (e *Engine) CompileGame(source string) (g *Game, err error) {
	defer recovered(&err)
	if len(source) > MaxGameSource {
		return nil, fmt.Errorf("the source has %d bytes, the limit is %d", len(source), MaxGameSource)
	}
	tree, err := read(gameJS, source)
	if err != nil {
		return nil, syntaxError(err)
	}
	if err := asFunction(tree); err != nil {
		return nil, err
	}
	if err := instrument(tree, false, maxGameNodes); err != nil {
		return nil, err
	}
	compiled, err := goja.CompileAST(tree, true)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	library, err := e.games()
	if err != nil {
		return nil, err
	}
	return &Game{library: library, source: compiled}, nil
}

func syntaxError(err error) error {
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		return fmt.Errorf("%d:%d: syntax: %s", list[0].Position.Line, list[0].Position.Column, list[0].Message)
	}
	return fmt.Errorf("syntax: %w", err)
}

// exports are the names at the top level of a game that the library asks for.
const exports = `(function () { 'use strict'; return {
	info: typeof info === 'undefined' ? undefined : info,
	setup: typeof setup === 'undefined' ? undefined : setup,
	turn: typeof turn === 'undefined' ? undefined : turn,
	move: typeof move === 'undefined' ? undefined : move,
	view: typeof view === 'undefined' ? undefined : view,
	result: typeof result === 'undefined' ? undefined : result,
	parse: typeof parse === 'undefined' ? undefined : parse,
	sample: typeof sample === 'undefined' ? undefined : sample,
} })`

// asFunction turns a program into one function that runs it and returns what it
// exports. The syntax tree is changed and not the text, so that no source can
// close the function around it.
func asFunction(tree *ast.Program) error {
	around, err := read(gameJS, exports)
	if err != nil {
		return fmt.Errorf("read the exports: %w", err)
	}
	statement, _ := around.Body[0].(*ast.ExpressionStatement)
	f, ok := statement.Expression.(*ast.FunctionLiteral)
	if !ok {
		return errors.New("the exports are no function")
	}
	last := len(f.Body.List) - 1
	body := append(f.Body.List[:last:last], tree.Body...)
	f.Body.List, f.DeclarationList = append(body, f.Body.List[last]), tree.DeclarationList
	tree.Body, tree.DeclarationList = around.Body, nil
	return nil
}

// Call runs one of the functions that library/games.js has for the arena:
// describe, setup, position, parse, move or sample. args is a JSON array. The error is
// the game's, in one sentence that begins with the line and the column where
// it arose, if it arose in the source.
func (g *Game) Call(entry, args string, left *Allowance) (result string, err error) {
	keep := false
	defer func() {
		if !keep {
			g.kept = nil
		}
	}()
	defer recovered(&err)
	if g.kept == nil {
		s, err := start(g.library, MaxGameString)
		if err != nil {
			return "", err
		}
		g.kept = &s
	}
	r := g.kept.run
	r.spent, r.limit = Allowance{}, Allowance{min(left.Steps, MaxSteps), min(left.Bytes, MaxMemory)}
	r.matcher = matcher{}
	defer func() { left.Steps, left.Bytes = left.Steps-r.spent.Steps, left.Bytes-r.spent.Bytes }()
	game, err := r.vm.RunProgram(g.source)
	if err != nil {
		return "", gameError(err)
	}
	call, _ := goja.AssertFunction(g.kept.main)
	v, err := call(goja.Undefined(), game, r.vm.ToValue(entry), r.vm.ToValue(args))
	if err != nil {
		err = gameError(err)
	}
	keep = r.over == nil
	switch {
	case err != nil:
		return "", err
	case !keep: // spent by the very last instruction
		return "", r.over
	}
	return v.String(), nil
}

// gameError translates an error of the interpreter, with its position.
func gameError(err error) error {
	var frames []goja.StackFrame
	what := reason(err)
	if e, ok := errors.AsType[*goja.InterruptedError](err); ok {
		frames = e.Stack()
	}
	if e, ok := errors.AsType[*goja.StackOverflowError](err); ok {
		frames = e.Stack()
	}
	if e, ok := errors.AsType[*goja.Exception](err); ok {
		frames = e.Stack()
		if text := message(e.Value()); text != "" {
			what = errors.New(text)
		}
	}
	for _, f := range frames {
		if at := f.Position(); f.SrcName() == gameJS && at.Line > 0 {
			return fmt.Errorf("%d:%d: %w", at.Line, at.Column, what)
		}
	}
	return what
}

// maxMessage is how much of the message of an error is kept, in characters.
const maxMessage = 200

// message returns the name and the message of a thrown error, "" for any other
// value. Reading them may run code of the game, which pays for it.
func message(v goja.Value) string {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return ""
	}
	var parts []string
	for _, key := range []string{"name", "message"} {
		if s, ok := o.Get(key).(goja.String); ok && s.Length() > 0 {
			parts = append(parts, fmt.Sprintf("%.*s", maxMessage, s.String()))
		}
	}
	return strings.ToValidUTF8(strings.Join(parts, ": "), "�")
}
