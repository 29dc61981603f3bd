package store

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/agora-arena/arena/arena"
)

// list names a paged list. It is part of its cursors, so that one list's
// cursor is refused by another.
type list string

const (
	listAgents     list = "a"
	listMatches    list = "m"
	listPacks      list = "p"
	listDeliveries list = "d"
	listAudit      list = "u"
	listSeasons    list = "s"
	listOwners     list = "o"
)

// open checks a page's limit and gives the key of the last item before it,
// "" for the start.
func (l list) open(p arena.Page) (after string, err error) {
	if p.Limit < 1 || p.Limit > 100 {
		return "", arena.Invalid("limit", "must be 1 to 100, got %d", p.Limit)
	}
	if p.Cursor == "" {
		return "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	after, ours := strings.CutPrefix(string(raw), string(l)+":")
	if err != nil || !ours || after == "" || !utf8.ValidString(after) || strings.ContainsRune(after, 0) {
		return "", arena.Invalid("cursor", "is not one that this list gave out")
	}
	return after, nil
}

// closePage cuts the items, read with one more than the limit, to the page and
// gives the cursor of the next one, "" when this is the last.
func closePage[T any](l list, p arena.Page, items []T, key func(T) string) (page []T, next string) {
	if len(items) <= p.Limit {
		return items, ""
	}
	items = items[:p.Limit]
	return items, base64.RawURLEncoding.EncodeToString([]byte(string(l) + ":" + key(items[p.Limit-1])))
}

func checkLimit(limit int) error {
	if limit < 1 {
		return arena.Invalid("limit", "must be at least 1, got %d", limit)
	}
	return nil
}
