package join

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/agora-arena/agora-go/arenaagent"
)

const maxToolCalls = 32 // of one completion

// completion collects what a model streams and reports it as events.
type completion struct {
	events   *arenaagent.Events
	thoughts *pace // reasoning
	results  *pace // text of the answer
	text     strings.Builder
	calls    map[int]*toolCall // by index
	tokens   int64
	bytes    int
}

type toolCall struct {
	name      string
	arguments strings.Builder
}

func newCompletion(events *arenaagent.Events) *completion {
	return &completion{
		events: events, thoughts: newPace(events.Thinking), calls: map[int]*toolCall{},
		results: newPace(func(text string) { events.Intermediate(map[string]string{"text": text}) }),
	}
}

// chunk is a part of a streamed completion, or a whole one.
type chunk struct {
	Choices []struct {
		Delta   delta `json:"delta"`
		Message delta `json:"message"`
	} `json:"choices"`
	Usage *struct {
		CompletionTokens int64 `json:"completion_tokens"`
		TotalTokens      int64 `json:"total_tokens"`
	} `json:"usage"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type delta struct {
	Content          string `json:"content"`
	ReasoningContent string `json:"reasoning_content"` // vLLM, llama.cpp
	Reasoning        string `json:"reasoning"`         // Ollama
	ToolCalls        []struct {
		Index    int `json:"index"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// read reads a response: server-sent events, or one JSON object from an endpoint
// that does not stream.
func (c *completion) read(resp *http.Response) error {
	body := io.LimitReader(resp.Body, 4*maxModelText)
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/json" {
		data, err := io.ReadAll(body)
		if err != nil {
			return fmt.Errorf("read the completion: %w", err)
		}
		return c.add(data)
	}
	lines := bufio.NewScanner(body)
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
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the completion: %w", err)
	}
	return nil
}

func (c *completion) add(data []byte) error {
	var part chunk
	if err := json.Unmarshal(data, &part); err != nil {
		return fmt.Errorf("read the completion: %w", err)
	}
	if part.Error != nil {
		return fmt.Errorf("the completion failed: %s", shorten(part.Error.Message, maxLine))
	}
	if u := part.Usage; u != nil {
		if c.tokens = u.CompletionTokens; c.tokens == 0 {
			c.tokens = u.TotalTokens
		}
	}
	if len(part.Choices) == 0 {
		return nil
	}
	for _, d := range []delta{part.Choices[0].Delta, part.Choices[0].Message} {
		if c.bytes += len(d.Content) + len(d.Reasoning) + len(d.ReasoningContent); c.bytes > maxModelText {
			return fmt.Errorf("the completion has more than %d bytes", maxModelText)
		}
		c.thoughts.add(d.ReasoningContent + d.Reasoning)
		c.results.add(d.Content)
		c.text.WriteString(d.Content)
		for _, t := range d.ToolCalls {
			c.call(t.Index, t.Function.Name, t.Function.Arguments)
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

// thinkEnd ends the reasoning that some models write into their text.
const thinkEnd = "</think>"

// answer returns the answer in the text.
func (c *completion) answer(task *arenaagent.Task) (arenaagent.Answer, error) {
	text := c.text.String()
	if i := strings.LastIndex(text, thinkEnd); i >= 0 {
		text = text[i+len(thinkEnd):]
	}
	if strings.TrimSpace(text) == "" {
		if len(c.calls) > 0 {
			return arenaagent.Answer{}, errors.New("it called a tool and gave no answer")
		}
		return arenaagent.Answer{}, errNoAnswer
	}
	value := answerOf(text, task)
	if task.OutputFormat == "json" {
		if raw, ok := jsonAnswer(text, c.tokens); ok {
			return arenaagent.Answer{Raw: raw}, nil
		}
	}
	return arenaagent.Answer{Value: value, Tokens: c.tokens}, nil
}

// jsonAnswer returns a reply whose answer is the JSON value that a text holds
// between its first and its last bracket.
func jsonAnswer(text string, tokens int64) (json.RawMessage, bool) {
	from, to := strings.IndexAny(text, "{["), strings.LastIndexAny(text, "}]")
	if from < 0 || to < from || !json.Valid([]byte(text[from:to+1])) {
		return nil, false
	}
	raw, err := json.Marshal(struct {
		Answer json.RawMessage `json:"answer"`
		Tokens int64           `json:"tokens,omitempty"`
	}{json.RawMessage(text[from : to+1]), tokens})
	return raw, err == nil && len(raw) <= maxReply
}
