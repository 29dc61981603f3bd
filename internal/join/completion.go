package join

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agora-arena/agora-go/arenaagent"
	"github.com/agora-arena/agora-go/modeltext"
)

const maxToolCalls = 32 // of one completion

// completion collects what a model streams and reports it as events.
type completion struct {
	api      modelAPI
	events   *arenaagent.Events
	thoughts *pace // reasoning
	results  *pace // text of the answer
	text     strings.Builder
	finish   string            // why the model ended; "": it has not
	calls    map[int]*toolCall // by index
	tokens   int64
	bytes    int
}

type toolCall struct {
	name      string
	arguments strings.Builder
}

func newCompletion(api modelAPI, events *arenaagent.Events) *completion {
	return &completion{
		api: api, events: events, thoughts: newPace(events.Thinking), calls: map[int]*toolCall{},
		results: newPace(func(text string) { events.Intermediate(map[string]string{"text": text}) }),
	}
}

// delta is a part of a message, or a whole one.
type delta struct {
	Content          modeltext.Content `json:"content"`
	ReasoningContent modeltext.Content `json:"reasoning_content"` // vLLM, llama.cpp
	Reasoning        modeltext.Content `json:"reasoning"`         // Ollama
	ToolCalls        []struct {
		Index    int `json:"index"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"` // a string that holds JSON, or JSON
		} `json:"function"`
	} `json:"tool_calls"`
}

// problem is the message of an error: a string, or the member message of an object.
type problem string

// UnmarshalJSON never fails: an error without a message is quoted as it is.
func (p *problem) UnmarshalJSON(data []byte) error {
	var text string
	var object struct {
		Message string `json:"message"`
	}
	switch {
	case json.Unmarshal(data, &text) == nil:
		*p = problem(text)
	case json.Unmarshal(data, &object) == nil && object.Message != "":
		*p = problem(object.Message)
	default:
		*p = problem(data)
	}
	return nil
}

// errCutOff is returned for a completion that ended before its end. Half an answer
// is another answer, so it is never played.
var errCutOff = errors.New("the completion was cut off")

func cutOff(cause error) error {
	if cause == nil {
		return passingError{errCutOff, 0}
	}
	return passingError{fmt.Errorf("%w: %w", errCutOff, cause), 0}
}

// read reads a completion: server-sent events, or one JSON object from an endpoint
// that does not stream, whatever the type that its header names.
func (c *completion) read(body io.Reader) error {
	in := bufio.NewReader(io.LimitReader(body, 4*maxModelText))
	first, err := in.Peek(1)
	for err == nil && bytes.ContainsAny(first, " \t\r\n") {
		_, _ = in.Discard(1) // it was peeked at
		first, err = in.Peek(1)
	}
	switch {
	case err != nil:
		return cutOff(err)
	case first[0] == '<':
		return errors.New("the endpoint sent a web page, and no completion (check --base-url)")
	case first[0] != '{':
		return c.readStream(in)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return cutOff(err)
	}
	return c.add(data)
}

func (c *completion) readStream(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxModelText)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		data = bytes.TrimSpace(data)
		switch {
		case !ok || len(data) == 0:
			continue
		case string(data) == "[DONE]":
			return nil
		}
		if err := c.add(data); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("read the completion: %w", err)
	case c.finish == "": // with a reason, an endpoint may leave [DONE] out
		return cutOff(err)
	}
	return nil
}

func (c *completion) add(data []byte) error {
	part, err := c.api.read(data)
	switch {
	case !json.Valid(data):
		return cutOff(err)
	case err != nil:
		return fmt.Errorf("read the completion: %w", err)
	case part.failed != nil:
		return fmt.Errorf("the completion failed: %s", shorten(string(*part.failed), maxLine))
	}
	c.tokens, c.finish = cmp.Or(part.tokens, c.tokens), cmp.Or(part.finish, c.finish)
	for _, d := range part.deltas {
		if c.bytes += len(d.Content) + len(d.Reasoning) + len(d.ReasoningContent); c.bytes > maxModelText {
			return fmt.Errorf("the completion has more than %d bytes", maxModelText)
		}
		c.thoughts.add(string(d.ReasoningContent + d.Reasoning))
		c.results.add(string(d.Content))
		c.text.WriteString(string(d.Content))
		for _, t := range d.ToolCalls {
			arguments := string(t.Function.Arguments)
			_ = json.Unmarshal(t.Function.Arguments, &arguments)
			c.call(t.Index, t.Function.Name, arguments)
		}
	}
	return nil
}

// call adds a part of a tool call.
func (c *completion) call(index int, name, arguments string) {
	call := c.calls[index]
	if call == nil {
		if len(c.calls) == maxToolCalls {
			return
		}
		call = &toolCall{}
		c.calls[index] = call
	}
	call.name = shorten(call.name+name, 64)
	if call.arguments.Len()+len(arguments) <= maxReply {
		call.arguments.WriteString(arguments)
	}
}

// end reports what was collected. The tools of a model are not run here: no tool
// is offered to it, so a call comes from an endpoint that runs tools itself.
func (c *completion) end() {
	c.thoughts.close()
	c.results.close()
	for _, index := range slices.Sorted(maps.Keys(c.calls)) {
		call := c.calls[index]
		var args any = call.arguments.String()
		if json.Valid([]byte(call.arguments.String())) {
			args = json.RawMessage(call.arguments.String())
		}
		c.events.ToolCall(call.name, args)
	}
}

// answer returns the answer in the text. A model that was stopped before it had marked
// an answer, or while it was thinking, has not answered.
func (c *completion) answer(task *arenaagent.Task) (arenaagent.Answer, error) {
	text := modeltext.Clean(c.text.String())
	answer, marked := answerIn(text, task, c.tokens)
	switch stopped := slices.Contains([]string{"length", "model_length", "max_tokens", "max_output_tokens", "content_filter", "refusal", "error"}, c.finish); {
	case stopped && !marked, strings.HasPrefix(strings.ToLower(text), "<think"):
		return arenaagent.Answer{}, cutOff(fmt.Errorf("finish_reason is %q", c.finish))
	case answer.Value != "" || answer.Raw != nil:
		return answer, nil
	case len(c.calls) > 0:
		return arenaagent.Answer{}, errors.New("it called a tool and gave no answer")
	}
	return arenaagent.Answer{}, errNoAnswer
}
