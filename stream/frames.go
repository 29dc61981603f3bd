package stream

import "encoding/binary"

// The close codes of /v1/stream. Beside them it uses 1000 (the match is
// over), 1009 (message too big), 1011 (our own fault) and 1012 (the server
// restarts, come back) of RFC 6455 and its registry.
const (
	CloseBadRequest = 4400 // the peer says what it may not say
	CloseToken      = 4401 // no token in time, a bad one, or an expired one
	CloseForged     = 4403 // events under another identity
	CloseSlow       = 4408 // come back with since
	CloseReplaced   = 4409 // a newer socket of the same seat
	CloseTooMany    = 4429 // too many events
)

const (
	closeOver     = 1000
	closeLost     = 1006 // never on the wire: the connection broke
	closeTooBig   = 1009
	closeInternal = 1011
	closeRestart  = 1012
)

// The first byte of a complete, unmasked server frame (RFC 6455, section 5.2).
const (
	frameText  = 0x80 | 0x1
	frameClose = 0x80 | 0x8
	framePing  = 0x80 | 0x9
)

// pingFrame returns a ping without a payload.
func pingFrame() []byte { return []byte{framePing, 0} }

// maxFrameHeader is the length of the longest header that a server writes.
const maxFrameHeader = 10

// appendFrameHeader appends the header of a complete, unmasked frame with a
// payload of n bytes.
func appendFrameHeader(b []byte, first byte, n int) []byte {
	switch {
	case n <= 125:
		return append(b, first, byte(n)) //nolint:gosec // G115: at most 125
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(b, first, 126), uint16(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, first, 127), uint64(n))
	}
}

// appendCloseFrame appends a close frame. A reason over 123 bytes is cut.
func appendCloseFrame(b []byte, code int, reason string) []byte {
	reason = reason[:min(len(reason), 123)]
	b = appendFrameHeader(b, frameClose, 2+len(reason))
	b = binary.BigEndian.AppendUint16(b, uint16(code)) //nolint:gosec // G115: close codes are below 5000
	return append(b, reason...)
}

// unfinished returns what is missing of the frame at which a write of the
// frames b broke off after n bytes; nothing when that was between two frames.
func unfinished(b []byte, n int) []byte {
	for at := 0; at < n; {
		size, header := int(b[at+1]), 2
		switch size {
		case 126:
			size, header = int(binary.BigEndian.Uint16(b[at+2:])), 4
		case 127:
			size, header = int(binary.BigEndian.Uint64(b[at+2:])), 10 //nolint:gosec // G115: our own frame, bounded by its event
		}
		if at += header + size; at > n {
			return b[n:at]
		}
	}
	return nil
}
