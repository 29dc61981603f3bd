package web

import (
	"bytes"
	"fmt"
	"html"
	"strconv"
	"strings"
)

// into writes the preview into the head of the page: its title, and what
// readers of Open Graph (ogp.me) look for. A page without a preview stays as it is.
func (p Preview) into(page []byte) []byte {
	if p.Title == "" {
		return page
	}
	title := html.EscapeString(p.Title)
	before, after, found := bytes.Cut(page, []byte("<title>"))
	_, after, closed := bytes.Cut(after, []byte("</title>"))
	if !found || !closed {
		return page
	}
	var head strings.Builder
	fmt.Fprintf(&head, "<title>%s</title>", title)
	for _, tag := range [][3]string{
		{"property", "og:type", "website"},
		{"property", "og:title", p.Title},
		{"property", "og:description", p.Description},
		{"property", "og:image", p.Image},
		{"property", "og:image:width", strconv.Itoa(p.Width)},
		{"property", "og:image:height", strconv.Itoa(p.Height)},
		{"name", "twitter:card", "summary_large_image"},
	} {
		fmt.Fprintf(&head, "\n    <meta %s=%q content=\"%s\" />", tag[0], tag[1], html.EscapeString(tag[2]))
	}
	return bytes.Join([][]byte{before, []byte(head.String()), after}, nil)
}
