package join

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/agora-arena/agora-go/modeltext"
)

// modelAPI is a form of the requests to models and of their replies.
type modelAPI struct {
	base string                          // where the API is unless --base-url names another place
	path string                          // below it
	key  string                          // the environment variable with the key
	sign func(h http.Header, key string) // "": the endpoint needs none
	// body is the request for a task in one of the forms, from first on.
	body  func(model, prompt, task string, form int32) any
	first int32
	// read reads an event of a stream, or a whole reply.
	read func(data []byte) (chunk, error)
}

// modelAPIs are the values of --api.
func modelAPIs() map[string]modelAPI {
	return map[string]modelAPI{
		"chat":      {"https://api.openai.com/v1", "chat/completions", "OPENAI_API_KEY", signBearer, chatBody, streamWithUsage, readChat},
		"responses": {"https://api.openai.com/v1", "responses", "OPENAI_API_KEY", signBearer, responsesBody, streamOnly, readResponses},
		"anthropic": {"https://api.anthropic.com/v1", "messages", "ANTHROPIC_API_KEY", signAnthropic, anthropicBody, streamOnly, readAnthropic},
	}
}

// The forms of a request, from the preferred one to the one that every endpoint
// accepts.
const (
	streamWithUsage int32 = iota
	streamOnly
	wholeReply
)

// chunk is what a part of a streamed reply adds, or a whole reply.
type chunk struct {
	deltas []delta
	finish string // why the model ended; "": it has not
	tokens int64  // of the reply so far; 0: not named
	failed *problem
}

func signBearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// chatRequest is the body of a request for a chat completion.
type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream,omitempty"`
	Options  *chatOptions  `json:"stream_options,omitempty"`
}

type chatOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func chatBody(model, prompt, task string, form int32) any {
	r := chatRequest{Model: model, Messages: []chatMessage{{"system", prompt}, {"user", task}}, Stream: form < wholeReply}
	if form == streamWithUsage {
		r.Options = &chatOptions{IncludeUsage: true}
	}
	return r
}

func readChat(data []byte) (c chunk, err error) {
	var part struct {
		Choices []struct {
			Delta        delta  `json:"delta"`
			Message      delta  `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			CompletionTokens int64 `json:"completion_tokens"`
			TotalTokens      int64 `json:"total_tokens"`
		} `json:"usage"`
		Error *problem `json:"error"`
	}
	err = json.Unmarshal(data, &part)
	c.tokens, c.failed = cmp.Or(part.Usage.CompletionTokens, part.Usage.TotalTokens), part.Error
	if len(part.Choices) > 0 {
		c.finish, c.deltas = part.Choices[0].FinishReason, []delta{part.Choices[0].Delta, part.Choices[0].Message}
	}
	return c, err
}

type responsesRequest struct {
	Model        string `json:"model"`
	Instructions string `json:"instructions"`
	Input        string `json:"input"`
	Stream       bool   `json:"stream,omitempty"`
	Store        bool   `json:"store"` // at the provider: false
}

func responsesBody(model, prompt, task string, form int32) any {
	return responsesRequest{Model: model, Instructions: prompt, Input: task, Stream: form < wholeReply}
}

// response is a whole response, which also ends a stream.
type response struct {
	Status     string `json:"status"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Output []struct {
		Type    string            `json:"type"`
		Content modeltext.Content `json:"content"`
	} `json:"output"`
	Usage struct {
		OutputTokens int64 `json:"output_tokens"`
	} `json:"usage"`
	Error *problem `json:"error"`
}

func readResponses(data []byte) (c chunk, err error) {
	var event struct {
		Type    string            `json:"type"` // "": a whole response
		Delta   modeltext.Content `json:"delta"`
		Message *problem          `json:"message"`
		response
		Response response `json:"response"`
	}
	err = json.Unmarshal(data, &event)
	end := event.Response
	switch event.Type {
	case "response.output_text.delta":
		c.deltas = []delta{{Content: event.Delta}}
		return c, err
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		c.deltas = []delta{{Reasoning: event.Delta}}
		return c, err
	case "error":
		c.failed = cmp.Or(event.Message, event.Error)
		return c, err
	case "response.completed", "response.incomplete", "response.failed":
	case "":
		end = event.response
		for _, o := range end.Output {
			if o.Type == "message" {
				c.deltas = append(c.deltas, delta{Content: o.Content})
			}
		}
	default:
		return c, err
	}
	c.finish, c.tokens, c.failed = cmp.Or(end.Incomplete.Reason, end.Status), end.Usage.OutputTokens, end.Error
	return c, err
}

// signAnthropic names the version of the API, too.
func signAnthropic(h http.Header, key string) {
	if key != "" {
		h.Set("X-Api-Key", key)
	}
	h.Set("Anthropic-Version", "2023-06-01")
}

// anthropicTokens is the most that every model of the API may be asked for.
const anthropicTokens = 4096

type anthropicRequest struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	System    string        `json:"system"`
	Messages  []chatMessage `json:"messages"`
	Stream    bool          `json:"stream,omitempty"`
}

func anthropicBody(model, prompt, task string, form int32) any {
	return anthropicRequest{Model: model, MaxTokens: anthropicTokens, System: prompt, Messages: []chatMessage{{"user", task}}, Stream: form < wholeReply}
}

func readAnthropic(data []byte) (c chunk, err error) {
	var event struct {
		Delta struct {
			Text       modeltext.Content `json:"text"`
			Thinking   modeltext.Content `json:"thinking"`
			StopReason string            `json:"stop_reason"`
		} `json:"delta"`
		Content    modeltext.Content `json:"content"` // of a whole reply, as its stop_reason
		StopReason string            `json:"stop_reason"`
		Usage      struct {
			OutputTokens int64 `json:"output_tokens"`
		} `json:"usage"`
		Error *problem `json:"error"`
	}
	err = json.Unmarshal(data, &event)
	c.deltas = []delta{{Content: event.Delta.Text, Reasoning: event.Delta.Thinking}, {Content: event.Content}}
	c.finish, c.tokens, c.failed = cmp.Or(event.Delta.StopReason, event.StopReason), event.Usage.OutputTokens, event.Error
	return c, err
}
