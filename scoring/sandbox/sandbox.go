package sandbox

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/unistring"
)

// What a program may be and do.
const (
	MaxSource = 32 << 10  // bytes of source
	MaxSteps  = 5_000_000 // syntax nodes run in one call, about 0.1 s
	MaxMemory = 256 << 20 // bytes ever asked for in one call, by estimate
	MaxString = 64 << 10  // UTF-16 units of one string, and of a result
	MaxDepth  = 2_000     // calls within calls

	maxName  = 128 // bytes of an identifier
	maxParts = 64  // expressions in one template literal
	maxNodes = 20_000

	libraryJS = "library.js"
	answerJS  = "answer.js"
)

// Why a call was ended from outside, numbered like the limits.
var (
	ErrSteps  = errors.New("too many steps")
	ErrMemory = errors.New("too much memory")
	ErrString = errors.New("a string of more than 65536 characters")
	ErrDepth  = errors.New("calls deeper than 2000")
)

//go:embed library
var library embed.FS

// libraryParts returns the files of the library in the order in which they
// stand on each other: one function, whose value is what a call calls. The last
// part depends on what is run.
func libraryParts(last string) []string {
	return []string{"base.js", "array.js", "text.js", "values.js", "json.js", last}
}

// compileLibrary compiles the library with its last part.
func compileLibrary(last string) (*goja.Program, error) {
	var s strings.Builder
	s.WriteString("'use strict'; (() => {\n")
	for _, name := range libraryParts(last) {
		part, err := library.ReadFile("library/" + name)
		if err != nil {
			return nil, fmt.Errorf("read the library: %w", err)
		}
		s.Write(part)
	}
	s.WriteString("})();\n")
	tree, err := read(libraryJS, s.String())
	if err == nil {
		err = instrument(tree, true, maxNodes)
	}
	if err != nil {
		return nil, fmt.Errorf("read the library: %w", err)
	}
	compiled, err := goja.CompileAST(tree, false)
	if err != nil {
		return nil, fmt.Errorf("compile the library: %w", err)
	}
	return compiled, nil
}

// maxReady is how many interpreters an Engine keeps ready: most tasks have
// fewer cases.
const maxReady = 8

// Engine compiles programs against the library. It is safe for concurrent use.
type Engine struct {
	library *goja.Program
	games   func() (*goja.Program, error) // the library of games, compiled once

	mu    sync.Mutex
	ready []started
}

// started is an interpreter in which the library has run and nothing else.
type started struct {
	run  *run
	main goja.Value // what the library defines
}

// start returns an interpreter that nothing has used.
func start(library *goja.Program, longest int64) (started, error) {
	r := newRun(longest)
	main, err := r.vm.RunProgram(library)
	if err != nil {
		return started{}, fmt.Errorf("start the library: %w", err)
	}
	return started{r, main}, nil
}

// Prepare starts an interpreter ahead of the next call, and reports whether
// another one may be wanted. Starting one takes longer than most calls.
func (e *Engine) Prepare() (more bool, err error) {
	if e.prepared() {
		return false, nil
	}
	s, err := start(e.library, MaxString)
	if err != nil {
		return false, err
	}
	e.mu.Lock()
	e.ready = append(e.ready, s)
	e.mu.Unlock()
	return !e.prepared(), nil
}

func (e *Engine) prepared() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.ready) >= maxReady
}

// take returns an interpreter that was prepared, or starts one.
func (e *Engine) take() (started, error) {
	e.mu.Lock()
	if n := len(e.ready); n > 0 {
		s := e.ready[n-1]
		e.ready[n-1] = started{}
		e.ready = e.ready[:n-1]
		e.mu.Unlock()
		return s, nil
	}
	e.mu.Unlock()
	return start(e.library, MaxString)
}

// New compiles the library.
func New() (*Engine, error) {
	compiled, err := compileLibrary("answers.js")
	if err != nil {
		return nil, err
	}
	return &Engine{library: compiled, games: sync.OnceValues(func() (*goja.Program, error) { return compileLibrary("games.js") })}, nil
}

// Program is a source that may be run. It holds no state: every call starts
// from nothing.
type Program struct {
	engine *Engine
	answer *goja.Program
}

// Compile reads and meters a source, whose top level must define function. The
// error says what is wrong with the source, in one sentence.
func (e *Engine) Compile(source, function string) (p *Program, err error) {
	defer recovered(&err)
	if len(source) > MaxSource {
		return nil, fmt.Errorf("the source has %d bytes, the limit is %d", len(source), MaxSource)
	}
	if !isName(function) {
		return nil, fmt.Errorf("%.50q is not the name of a function", function)
	}
	tree, err := read(answerJS, source)
	if err != nil {
		return nil, fmt.Errorf("syntax: %w", err)
	}
	if err := instrument(tree, false, maxNodes); err != nil {
		return nil, err
	}
	tree.Body = append(tree.Body, &ast.ExpressionStatement{Expression: &ast.Identifier{Name: unistring.NewFromString(function)}})
	answer, err := goja.CompileAST(tree, false)
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return &Program{engine: e, answer: answer}, nil
}

// isName reports whether s is an identifier of ASCII letters, digits and
// underscores.
func isName(s string) bool {
	return s != "" && len(s) <= maxName && !unicode.IsDigit(rune(s[0])) && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// read parses one source. Source maps are off: goja would read the file that a
// comment names.
func read(name, source string) (*ast.Program, error) {
	return parser.ParseFile(nil, name, source, parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps)
}

// Allowance is what is left for several calls together. Call takes from it.
type Allowance struct{ Steps, Bytes int64 }

// Call calls the program's function with the arguments, a JSON array, and
// returns its result as JSON. The call takes at most MaxSteps and MaxMemory, and what is left.
// An error is the program's, in one sentence, or one of the Err variables.
func (p *Program) Call(args string, left *Allowance) (result string, err error) {
	defer recovered(&err)
	s, err := p.engine.take()
	if err != nil {
		return "", err
	}
	r := s.run
	r.spent, r.limit = Allowance{}, Allowance{min(left.Steps, MaxSteps), min(left.Bytes, MaxMemory)}
	defer func() { left.Steps, left.Bytes = left.Steps-r.spent.Steps, left.Bytes-r.spent.Bytes }()
	solve, err := r.vm.RunProgram(p.answer)
	if err != nil {
		return "", reason(err)
	}
	call, _ := goja.AssertFunction(s.main)
	v, err := call(goja.Undefined(), solve, r.vm.ToValue(args))
	if err != nil {
		return "", reason(err)
	}
	if r.over != nil { // spent by the very last instruction
		return "", r.over
	}
	return v.String(), nil
}

// reason translates an error of the interpreter.
func reason(err error) error {
	if e, ok := errors.AsType[*goja.InterruptedError](err); ok {
		if cause, ok := e.Value().(error); ok {
			return cause
		}
	}
	if _, ok := errors.AsType[*goja.StackOverflowError](err); ok {
		return ErrDepth
	}
	if e, ok := errors.AsType[*goja.Exception](err); ok {
		return thrown(e)
	}
	return errors.New("the program failed")
}

// thrown describes what a program threw, without running any more of it.
func thrown(e *goja.Exception) error {
	switch v := e.Value().(type) {
	case goja.String:
		return fmt.Errorf("threw %.200q", v.String())
	case *goja.Object:
		if v.ClassName() == "Error" {
			return errors.New("threw an error")
		}
	}
	return errors.New("threw something")
}

// recovered turns a panic of the interpreter into an error: a fault of goja
// must cost the answer, not the arena.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = errors.New("the interpreter failed")
	}
}
