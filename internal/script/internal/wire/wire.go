package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/agora-arena/arena/internal/strictjson"
)

// Bounds of a frame in bytes, without its length.
const (
	MaxRequest = 8 << 20
	MaxReply   = 4 << 20
)

const lengthSize = 4

// ErrFrame is returned for a frame that breaks the format.
var ErrFrame = errors.New("malformed frame")

// Request is a request to a worker to run a script, with the members of
// arena.Script.
type Request struct {
	Source      string            `json:"source"`
	Function    string            `json:"function"`
	Calls       []json.RawMessage `json:"calls"`
	Budget      int               `json:"budget"`
	StopOnError bool              `json:"stop_on_error"`
	Game        bool              `json:"game"`
}

// Kind names what a reply reports.
type Kind string

// The kinds of replies. A worker sends ready once; then, for each request,
// compiled, a result for each call, and done. A source that does not compile
// gets done at once, with an error.
const (
	Ready    Kind = "ready"
	Compiled Kind = "compiled"
	Result   Kind = "result"
	Done     Kind = "done"
)

// Reply is a message of a worker.
type Reply struct {
	Kind  Kind   `json:"kind"`
	Value string `json:"value"`
	Error string `json:"error"`
	// Missing lists the protections that the kernel does not offer; ready only.
	Missing []string `json:"missing"`
}

// Write writes a message as one frame of at most limit bytes.
func Write(w io.Writer, limit int, message any) error {
	frame := bytes.NewBuffer(make([]byte, lengthSize, 512))
	encoder := json.NewEncoder(frame)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(message); err != nil {
		return fmt.Errorf("encode a frame: %w", err)
	}
	size := frame.Len() - lengthSize
	if size > limit {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrFrame, size, limit)
	}
	binary.BigEndian.PutUint32(frame.Bytes(), uint32(size)) //nolint:gosec // G115: bounded above
	if _, err := w.Write(frame.Bytes()); err != nil {
		return fmt.Errorf("write a frame: %w", err)
	}
	return nil
}

// Read reads one frame of at most limit bytes into message. It returns io.EOF
// when the input ends before a frame.
func Read(r io.Reader, limit int, message any) error {
	var length [lengthSize]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return fmt.Errorf("read a frame: %w", err)
	}
	size := int64(binary.BigEndian.Uint32(length[:]))
	if size == 0 || size > int64(limit) {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrFrame, size, limit)
	}
	// Grows with what arrives, not with what the length announces.
	var frame bytes.Buffer
	switch n, err := io.CopyN(&frame, r, size); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("read a frame: %d of %d bytes: %w", n, size, io.ErrUnexpectedEOF)
	case err != nil:
		return fmt.Errorf("read a frame: %w", err)
	}
	if err := strictjson.Unmarshal(frame.Bytes(), message); err != nil {
		return fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return nil
}
