package sandbox

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// What a program may be and do.
const (
	MaxSource = 32 << 10  // bytes of source
	MaxSteps  = 5_000_000 // syntax nodes run in one call, about 0.1 s
	MaxMemory = 256 << 20 // bytes ever asked for in one call, by estimate
	MaxString = 64 << 10  // UTF-16 units of one string, and of a result
	MaxDepth  = 2_000     // calls within calls
	MaxWall   = 10 * time.Second

	maxName  = 128 // bytes of an identifier
	maxParts = 64  // expressions in one template literal
	maxNodes = 20_000

	mainName  = "solve"
	libraryJS = "library.js"
	answerJS  = "answer.js"
)

// Why a call was ended from outside; the numbers are those of the limits.
var (
	ErrSteps  = errors.New("too many steps")
	ErrMemory = errors.New("too much memory")
	ErrString = errors.New("a string of more than 65536 characters")
	ErrWall   = errors.New("more than 10 seconds")
	ErrDepth  = errors.New("calls deeper than 2000")
)

//go:embed library
var library embed.FS

// libraryParts gives the files of the library in the order in which they
// stand on each other: one function, whose value is what Call calls.
func libraryParts() []string {
	return []string{"base.js", "array.js", "text.js", "values.js", "json.js"}
}

func librarySource() (string, error) {
	var s strings.Builder
	s.WriteString("'use strict'; (() => {\n")
	for _, name := range libraryParts() {
		part, err := library.ReadFile("library/" + name)
		if err != nil {
			return "", fmt.Errorf("read the library: %w", err)
		}
		s.Write(part)
	}
	s.WriteString("})();\n")
	return s.String(), nil
}

// Program is a source that may be run. It holds no state: every call starts
// from nothing.
type Program struct {
	library, answer *goja.Program
}

// Compile reads and meters a source. Its top level must define solve. The
// error says what is wrong with the source, in one sentence.
func Compile(source string) (p *Program, err error) {
	defer recovered(&err)
	if len(source) > MaxSource {
		return nil, fmt.Errorf("the source has %d bytes, the limit is %d", len(source), MaxSource)
	}
	if err := checkArrows(source); err != nil {
		return nil, err
	}
	own, err := librarySource()
	if err != nil {
		return nil, err
	}
	prelude, err := parse(libraryJS, own)
	if err != nil {
		return nil, fmt.Errorf("read the library: %w", err)
	}
	answer, err := parse(answerJS, source)
	if err != nil {
		return nil, err
	}
	answer.Body = append(answer.Body, &ast.ExpressionStatement{Expression: &ast.Identifier{Name: mainName}})
	p = &Program{}
	if p.library, err = goja.CompileAST(prelude, false); err != nil {
		return nil, fmt.Errorf("compile the library: %w", err)
	}
	if p.answer, err = goja.CompileAST(answer, false); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return p, nil
}

// parse reads one source and meters it. Source maps are off: goja would read
// the file that a comment names.
func parse(name, source string) (*ast.Program, error) {
	tree, err := parser.ParseFile(nil, name, source, parser.IgnoreRegExpErrors, parser.WithDisableSourceMaps)
	if err != nil {
		return nil, fmt.Errorf("syntax: %w", err)
	}
	if err := instrument(tree, name == libraryJS); err != nil {
		return nil, err
	}
	return tree, nil
}

// Allowance is what is left for several calls together. Call takes from it.
type Allowance struct{ Steps, Bytes int64 }

// Call runs solve on the arguments, a JSON array, and gives what it returned
// as JSON. The call takes at most MaxSteps and MaxMemory, and what is left.
// An error is the program's, in one sentence, or one of the Err variables.
func (p *Program) Call(args string, left *Allowance) (result string, err error) {
	r := newRun()
	defer recovered(&err)
	timer := time.AfterFunc(MaxWall, func() { r.vm.Interrupt(ErrWall) })
	defer timer.Stop()

	main, err := r.vm.RunProgram(p.library)
	if err != nil {
		return "", fmt.Errorf("start the library: %w", err)
	}
	r.spent, r.limit = Allowance{}, Allowance{min(left.Steps, MaxSteps), min(left.Bytes, MaxMemory)}
	defer func() { left.Steps, left.Bytes = left.Steps-r.spent.Steps, left.Bytes-r.spent.Bytes }()
	solve, err := r.vm.RunProgram(p.answer)
	if err != nil {
		return "", reason(err)
	}
	call, _ := goja.AssertFunction(main)
	v, err := call(goja.Undefined(), solve, r.vm.ToValue(args))
	if err != nil {
		return "", reason(err)
	}
	if r.over != nil { // spent by the very last instruction
		return "", r.over
	}
	return v.String(), nil
}

// reason puts an error of the interpreter into our words.
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
