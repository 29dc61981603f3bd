package pack

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// otherFile describes a file that does not hold tasks as text, and what to do with
// it; it returns "" for every other file.
func otherFile(data []byte) string {
	head := data[:min(len(data), 4096)]
	has := func(prefix string) bool { return bytes.HasPrefix(head, []byte(prefix)) }
	text := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))))
	switch {
	case has("PAR1"):
		return "a Parquet file; import it on the page for packs, or convert it to JSON Lines or CSV (docs/packs.md)"
	case has("PK\x03\x04") && bytes.Contains(data, []byte("xl/")):
		return "an Excel workbook; save the sheet as CSV UTF-8 and import that file"
	case has("PK\x03\x04") && bytes.Contains(head, []byte("opendocument.spreadsheet")):
		return "an OpenDocument spreadsheet; save the sheet as CSV in UTF-8 and import that file"
	case has("PK\x03\x04"), has("PK\x05\x06"):
		return "a ZIP archive; unpack it and import the file in it"
	case has("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
		return "an old Excel or Word file; save the sheet as CSV UTF-8 and import that file"
	case has("\x1f\x8b"), has("BZh"), has("\xfd7zXZ\x00"), has("\x28\xb5\x2f\xfd"):
		return "compressed; unpack it and import the file in it"
	case has("7z\xbc\xaf\x27\x1c"):
		return "a 7z archive; unpack it and import the file in it"
	case has("Rar!"):
		return "a RAR archive; unpack it and import the file in it"
	case has("SQLite format 3\x00"):
		return "a SQLite database; export the table as CSV and import that file"
	case has("ARROW1"):
		return "an Arrow file; save the table as CSV or JSON Lines"
	case has("Obj\x01"):
		return "an Avro file; save the records as JSON Lines"
	case has("%PDF"):
		return "a PDF; import a file of questions as CSV or JSON Lines"
	case has("{\\rtf"):
		return "a text document (RTF); save it as plain text in UTF-8"
	case has("version https://git-lfs.github.com/"):
		return "a Git LFS pointer, not the file itself; fetch the file with git lfs pull"
	case bytes.HasPrefix(text, []byte("<!doctype html")), bytes.HasPrefix(text, []byte("<html")):
		return "a web page; download the file itself, such as the raw file of a repository"
	case bytes.HasPrefix(text, []byte("<?xml")):
		return "an XML file; save the table as CSV UTF-8 and import that file"
	}
	return ""
}

// fromWholeWindows1252 returns the text of a file in Windows-1252. It refuses
// UTF-8, even if damaged, and what is probably another code page: bytes that
// Windows-1252 does not define, or more of its upper half than of ASCII.
func fromWholeWindows1252(data []byte) (text []byte, ok bool) {
	if utf8.Valid(data) {
		return nil, false
	}
	high, ascii := 0, 0
	for i, c := range data {
		if c < utf8.RuneSelf {
			text = append(text, c)
			if c|0x20 >= 'a' && c|0x20 <= 'z' {
				ascii++
			}
			continue
		}
		var next byte
		if i+1 < len(data) {
			next = data[i+1]
		}
		r := fromWindows1252(c)
		whole, _ := utf8.DecodeRune(data[i:])
		cut := c >= 0xC2 && c <= 0xDF && next == '?' || c == 0xE2 && next == 0x80 // of a UTF-8 sequence
		if whole != utf8.RuneError || r == utf8.RuneError || cut {
			return nil, false
		}
		text = utf8.AppendRune(text, r)
		high++
	}
	return text, high <= ascii
}

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
