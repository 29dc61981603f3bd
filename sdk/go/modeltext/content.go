package modeltext

import (
	"encoding/json"
	"strings"
)

// Content is the text of a message in a chat completion, which is a string or a
// list of parts. Parts that hold no text, such as images and reasoning, are left
// out.
type Content string

// UnmarshalJSON never fails: a value without text, such as null, is empty.
func (c *Content) UnmarshalJSON(data []byte) error {
	var parts []json.RawMessage
	if json.Unmarshal(data, &parts) != nil {
		parts = []json.RawMessage{data}
	}
	*c = ""
	for _, p := range parts {
		*c += Content(partText(p))
	}
	return nil
}

// partText returns the text of a part, which is a string or an object.
func partText(data []byte) (text string) {
	var part struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	switch {
	case json.Unmarshal(data, &text) == nil:
		return text
	case json.Unmarshal(data, &part) == nil && (part.Type == "" || strings.HasSuffix(part.Type, "text")):
		return part.Text
	}
	return ""
}
