package ws

import "encoding/binary"

// The close codes of /v1/stream: its own, and codes of RFC 6455 and its registry.
const (
	CloseOver       = 1000 // the match is over
	CloseLost       = 1006 // the connection broke; never sent
	CloseTooBig     = 1009 // a message is too large
	CloseInternal   = 1011 // an internal error
	CloseRestart    = 1012 // the server restarts; reconnect
	CloseBadRequest = 4400 // a message that the peer may not send
	CloseToken      = 4401 // no token in time, an invalid one, or an expired one
	CloseForged     = 4403 // events under another identity
	CloseSlow       = 4408 // reconnect with since
	CloseReplaced   = 4409 // a newer socket of the same seat
	CloseTooMany    = 4429 // too many events
)

// The first byte of a complete, unmasked server frame (RFC 6455, section 5.2).
const (
	frameText  = 0x80 | 0x1
	frameClose = 0x80 | 0x8
	framePing  = 0x80 | 0x9
	framePong  = 0x80 | 0xa
)

// pingFrame returns a ping without a payload.
func pingFrame() []byte { return []byte{framePing, 0} }

// MaxHeader is the length of the longest frame header that a server writes.
const MaxHeader = 10

// AppendText appends a text message as one frame.
func AppendText(b, text []byte) []byte {
	return append(appendFrameHeader(b, frameText, len(text)), text...)
}

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

// appendCloseFrame appends a close frame. A reason over 123 bytes is truncated.
func appendCloseFrame(b []byte, code int, reason string) []byte {
	reason = reason[:min(len(reason), 123)]
	b = appendFrameHeader(b, frameClose, 2+len(reason))
	b = binary.BigEndian.AppendUint16(b, uint16(code)) //nolint:gosec // G115: close codes are below 5000
	return append(b, reason...)
}

// unfinished returns the missing bytes of the frame in which a write of the
// frames b stopped after n bytes. It returns none between two frames.
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
