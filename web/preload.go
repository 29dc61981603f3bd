package web

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
)

// manifestName is the list of chunks that Vite writes beside them. A name
// that begins with a dot is not served.
const manifestName = ".vite/manifest.json"

// chunk is an entry of Vite's manifest.
type chunk struct {
	File    string   `json:"file"`
	CSS     []string `json:"css"`
	Imports []string `json:"imports"` // names of other entries
}

// pageLinks returns the Link headers of the pages that are not part of the
// first load, by name: what a page needs beside the files that index.html
// names. Without it the browser would ask for them only after the app has
// started. A build without a manifest has none.
func pageLinks(files fs.FS) map[string][]string {
	text, err := fs.ReadFile(files, manifestName)
	if err != nil {
		return nil
	}
	var manifest map[string]chunk
	if json.Unmarshal(text, &manifest) != nil {
		return nil // a page without hints is slower, and no less right
	}
	first := filesOf(manifest, indexName, nil)
	links := map[string][]string{}
	for _, r := range routes {
		if r.page == "" {
			continue
		}
		for _, file := range filesOf(manifest, "src/pages/"+r.page+".svelte", nil) {
			if slices.Contains(first, file) {
				continue
			}
			as := "rel=modulepreload"
			if strings.HasSuffix(file, ".css") {
				as = "rel=preload; as=style"
			}
			links[r.page] = append(links[r.page], "</"+file+">; "+as+"; crossorigin")
		}
	}
	return links
}

// filesOf appends the files of an entry and of all that it imports to those
// that are known.
func filesOf(manifest map[string]chunk, entry string, known []string) []string {
	c, ok := manifest[entry]
	if !ok || slices.Contains(known, c.File) {
		return known
	}
	known = append(known, c.File)
	for _, name := range c.CSS {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	for _, name := range c.Imports {
		known = filesOf(manifest, name, known)
	}
	return known
}
