package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	linkPattern   = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	anchorPattern = regexp.MustCompile(`<a id="([^"]+)"></a>`)
	codePattern   = regexp.MustCompile("`[^`]*`")
	punctuation   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// prose returns the lines of a page outside its code blocks.
func prose(page string) (lines []string) {
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if !fenced {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// anchors returns the names under which the parts of a page can be linked to.
func anchors(page string) (names []string) {
	for _, line := range prose(page) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			names = append(names, strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(title), ""), " ", "-"))
		}
		for _, a := range anchorPattern.FindAllStringSubmatch(line, -1) {
			names = append(names, a[1])
		}
	}
	return names
}

// pageFindings lists the links of the page with this name to files and headings
// that do not exist. read returns the text of
// another file, or "" for a folder, and false when there is none.
func pageFindings(name, page string, read func(name string) (string, bool)) (found []string) {
	for _, line := range prose(page) {
		for _, link := range linkPattern.FindAllStringSubmatch(codePattern.ReplaceAllString(line, ""), -1) {
			file, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
				continue
			}
			target, text, ok := name, page, true
			if file != "" {
				target = path.Join(path.Dir(name), file)
				text, ok = read(target)
			}
			if !ok {
				found = append(found, "a link to "+target+", which does not exist")
			} else if anchor != "" && !slices.Contains(anchors(text), anchor) {
				found = append(found, "a link to "+target+"#"+anchor+", which is no heading")
			}
		}
	}
	return found
}

func TestDocs_pages(t *testing.T) {
	t.Parallel()
	read := func(name string) (string, bool) {
		if info, err := os.Stat(filepath.Join(root(t), name)); err != nil {
			return "", false
		} else if info.IsDir() {
			return "", true
		}
		text, err := os.ReadFile(filepath.Join(root(t), name))
		return string(text), err == nil
	}
	index, _ := read("docs/README.md")
	pages := 0
	for _, name := range sources(t, ".md") {
		if strings.HasPrefix(name, "api/pages/") { // served by an arena, with links to its own paths
			continue
		}
		pages++
		page, _ := read(name)
		for _, finding := range pageFindings(name, page, read) {
			t.Errorf("%s has %s", name, finding)
		}
		inDocs, ok := strings.CutPrefix(name, "docs/")
		if ok && inDocs != "README.md" && inDocs != "protocols/envelope-transcript.md" && !strings.Contains(index, "]("+inDocs) {
			t.Errorf("docs/README.md has no link to %s", inDocs)
		}
	}
	if pages < 25 {
		t.Errorf("found %d pages", pages)
	}
}

// The rule finds what it must.
func TestDocs_pagesRuleRefuses(t *testing.T) {
	t.Parallel()
	read := func(name string) (string, bool) {
		return "# A heading: with `code`\n\n<a id=\"old\"></a>\n\n```\n# not a heading\n```\n", name == "docs/there.md"
	}
	for _, c := range []struct {
		name, page string
		want       int
	}{
		{"docs/x.md", "[a](there.md) [b](there.md#a-heading-with-code) [c](there.md#old) [d](https://example.org/x#y)\n", 0},
		{"docs/x.md", "# Here\n[a](#here) `[b](gone.md)`\n", 0},
		{"docs/x.md", "[a](gone.md)\n", 1},
		{"docs/x.md", "[a](there.md#not-a-heading) [b](#nowhere)\n", 2},
		{"docs/rules/x.md", "[a](there.md) [b](../there.md)\n", 1},
	} {
		if got := pageFindings(c.name, c.page, read); len(got) != c.want {
			t.Errorf("%s: found %q in %.60q, want %d", c.name, got, c.page, c.want)
		}
	}
}
