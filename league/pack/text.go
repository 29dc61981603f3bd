package pack

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// utf8Of returns a text file as UTF-8 without a byte order mark. UTF-16 is
// recognized by its byte order mark, or by a first character whose other half
// is zero. Text in any other encoding is returned unchanged; the readers of the
// formats report it.
func utf8Of(data []byte) []byte {
	if text, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		return text
	}
	if len(data) < 2 {
		return data
	}
	var order binary.ByteOrder
	switch {
	case data[0] == 0xff && data[1] == 0xfe:
		order, data = binary.LittleEndian, data[2:]
	case data[0] == 0xfe && data[1] == 0xff:
		order, data = binary.BigEndian, data[2:]
	case data[0] != 0 && data[1] == 0:
		order = binary.LittleEndian
	case data[0] == 0 && data[1] != 0:
		order = binary.BigEndian
	default:
		return data
	}
	text := make([]byte, 0, len(data))
	for len(data) > 1 {
		r := rune(order.Uint16(data))
		data = data[2:]
		if utf16.IsSurrogate(r) {
			low := rune(utf8.RuneError)
			if len(data) > 1 {
				low = rune(order.Uint16(data))
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				data = data[2:]
			}
		}
		text = utf8.AppendRune(text, r)
	}
	if len(data) > 0 { // half a character: the reader reports it
		text = utf8.AppendRune(text, utf8.RuneError)
	}
	return text
}
