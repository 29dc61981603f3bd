package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agora-arena/arena/arena"
	"github.com/agora-arena/arena/internal/strictjson"
)

// tool is one tool. Arguments are decoded by internal/strictjson and results passed on
// byte for byte: the library's own typed tools would turn whole numbers into
// floating point.
type tool struct {
	name, description string
	changes           bool // something
	operation         string
	input             object // properties
	required          []string
	open              bool   // other members are passed on
	output            object // schema of the result
	call              func(ctx context.Context, q *request, args json.RawMessage) (result, error)
}

// object is a JSON object in the making.
type object = map[string]any

// result is what a tool returns.
type result struct {
	value any
	text  string // for the model; "": value as JSON
}

// onlyAgents is the operation of tools for the key of an agent alone.
const onlyAgents = ""

// admits reports whether callers of a scope get a tool.
func (s *Server) admits(t tool, scope arena.Scope) bool {
	if t.operation == onlyAgents {
		return scope == arena.ScopeAgent
	}
	return s.o.Operations.Admits(t.operation, scope)
}

// describe returns the tool as clients see it.
func (t tool) describe() *sdk.Tool {
	input := object{"type": "object", "properties": t.input, "additionalProperties": t.open}
	if t.input == nil {
		input["properties"] = object{}
	}
	if len(t.required) > 0 {
		input["required"] = t.required
	}
	notes := &sdk.ToolAnnotations{ReadOnlyHint: !t.changes}
	if t.changes {
		notes.DestructiveHint = new(false)
	}
	return &sdk.Tool{Name: t.name, Description: t.description, Annotations: notes, InputSchema: input, OutputSchema: t.output}
}

// handle returns the handler of a tool. Its errors are failed calls that say why.
func (s *Server) handle(t tool) sdk.ToolHandler {
	return func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		q, ctx, end := begin(ctx)
		defer end()
		args := r.Params.Arguments
		if len(args) == 0 || string(args) == "null" {
			args = json.RawMessage("{}")
		}
		var value json.RawMessage
		got, err := t.call(ctx, q, args)
		if err == nil {
			value, err = json.Marshal(got.value)
		}
		if err != nil {
			var failed sdk.CallToolResult
			failed.SetError(s.explain(ctx, err))
			return &failed, nil
		}
		if got.text == "" {
			got.text = string(value)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: got.text}}, StructuredContent: value}, nil
	}
}

// explain returns an error as clients may see it.
func (s *Server) explain(ctx context.Context, err error) error {
	e, ok := errors.AsType[*arena.Error](err)
	switch {
	case ok && e.Code != arena.CodeInternal && e.Code != arena.CodeLeaseLost:
		var text strings.Builder
		fmt.Fprintf(&text, "%s: %s", e.Code, e.Message)
		for _, f := range e.Fields {
			if !strings.Contains(e.Message, f.Message) {
				fmt.Fprintf(&text, "; %s: %s", f.Field, f.Message)
			}
		}
		return errors.New(text.String())
	case ctx.Err() != nil:
		return fmt.Errorf("%s: the call took too long", arena.CodeUnavailable)
	}
	s.o.Logger.ErrorContext(ctx, "tool failed", "error", err)
	return fmt.Errorf("%s: something went wrong on the arena's side", arena.CodeInternal)
}

// with makes the call of a tool of a function of its decoded arguments.
func with[In any](call func(ctx context.Context, q *request, in In) (result, error)) func(context.Context, *request, json.RawMessage) (result, error) {
	return func(ctx context.Context, q *request, args json.RawMessage) (result, error) {
		var in In
		if err := strictjson.Unmarshal(args, &in); err != nil {
			return result{}, arena.Errorf(arena.CodeInvalid, "the arguments cannot be read: %v", err)
		}
		return call(ctx, q, in)
	}
}

// read makes the call of a tool without arguments.
func read(call func(ctx context.Context, caller arena.Caller) (any, error)) func(context.Context, *request, json.RawMessage) (result, error) {
	return with(func(ctx context.Context, q *request, _ struct{}) (result, error) {
		v, err := call(ctx, q.caller)
		return result{value: v}, err
	})
}

// maxID is the length of the longest id, slug or word of an argument.
const maxID = 64

// text is a text among the arguments, and the characters that it may have.
type text struct {
	name, value string
	most        int
	needed      bool
}

// id is an id, slug or word.
func id(name, value string, needed bool) text { return text{name, value, maxID, needed} }

// check returns an error for the first text that is too long, or missing although it
// is needed.
func check(texts ...text) error {
	for _, t := range texts {
		switch {
		case t.needed && t.value == "":
			return arena.Invalid(t.name, "is required")
		case utf8.RuneCountInString(t.value) > t.most:
			return arena.Invalid(t.name, "must have at most %d characters", t.most)
		}
	}
	return nil
}

// textSchema describes a text.
func textSchema(description string, most int) object {
	return object{"type": "string", "description": description, "maxLength": most}
}

// idSchema describes an id, slug or word.
func idSchema(description string) object { return textSchema(description, maxID) }

// answerSchema describes a result as the API answers it.
func answerSchema(route string) object {
	return object{"type": "object", "description": "The answer of " + route + "; /v1/openapi.json describes it."}
}

// listSchema describes a list as the API answers it.
func listSchema(route string) object {
	s := answerSchema(route)
	s["properties"] = object{"items": object{"type": "array", "items": object{"type": "object"}}, "next_cursor": object{"type": "string"}}
	s["required"] = []string{"items"}
	return s
}
