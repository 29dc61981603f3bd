package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/agora-arena/arena/league/pack"
)

// maxParquet is the largest Parquet file that is read, in bytes.
const maxParquet = 256 << 20

// readPackFile reads a file of tasks. A Parquet file is returned as JSON
// Lines, one line for each row: a server does not read Parquet, because a small
// file may claim any amount of memory.
func readPackFile(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // G304: the user's own file
	if err != nil {
		return nil, fmt.Errorf("read the pack: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the pack: %w", err)
	}
	most := int64(pack.DefaultLimits().File)
	magic := make([]byte, len(pack.ParquetMagic))
	if n, err := f.ReadAt(magic, 0); n == len(magic) && err == nil && string(magic) == pack.ParquetMagic {
		most = maxParquet
	}
	if info.Size() > most {
		return nil, fmt.Errorf("the file has %d bytes, the limit is %d", info.Size(), most)
	}
	if most == maxParquet {
		return parquetLines(f, info.Size())
	}
	return io.ReadAll(f)
}

// parquetLines returns the rows of a Parquet file as JSON Lines. It is for the
// user's own files only: a damaged one can make the library run out of memory.
func parquetLines(r io.ReaderAt, size int64) (lines []byte, err error) {
	defer func() {
		if p := recover(); p != nil { // the library trusts what a broken file says
			lines, err = nil, fmt.Errorf("the Parquet file is damaged: %v", p)
		}
	}()
	file, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("the Parquet file cannot be read: %w", err)
	}
	limits := pack.DefaultLimits()
	if n := file.NumRows(); n > int64(limits.Entries) {
		return nil, fmt.Errorf("the Parquet file has %d rows, the limit is %d", n, limits.Entries)
	}
	schema := file.Schema()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for _, group := range file.RowGroups() {
		err := eachRow(group, func(row parquet.Row) error {
			values := map[string]any{}
			if err := schema.Reconstruct(&values, row); err != nil {
				return err
			}
			if err := encoder.Encode(plainRow(values)); err != nil {
				return err
			}
			if out.Len() > limits.File {
				return fmt.Errorf("the rows have more than %d bytes as JSON Lines, which is the limit", limits.File)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("the Parquet file cannot be read: %w", err)
		}
	}
	return out.Bytes(), nil
}

func eachRow(group parquet.RowGroup, visit func(parquet.Row) error) (err error) {
	rows := group.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	buffer := make([]parquet.Row, 64)
	for {
		n, readErr := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if err := visit(row); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return nil
		case readErr != nil:
			return readErr
		case n == 0:
			return io.ErrNoProgress
		}
	}
}

// plainRow removes the names that Parquet puts around the items of lists, and
// converts bytes to strings.
func plainRow(v any) any {
	switch v := v.(type) {
	case []byte:
		return strings.ToValidUTF8(string(v), "\uFFFD")
	case map[string]any:
		if list, ok := listOf(v); ok {
			return list
		}
		for name, value := range v {
			v[name] = plainRow(value)
		}
	case []any:
		for i, value := range v {
			v[i] = plainRow(value)
		}
	}
	return v
}

// listOf returns the items of a list in the form {"list": [{"element": …}]}.
func listOf(v map[string]any) ([]any, bool) {
	items, ok := v["list"].([]any)
	if !ok || len(v) != 1 {
		return nil, false
	}
	out := []any{}
	for _, item := range items {
		wrapped, ok := item.(map[string]any)
		if !ok || len(wrapped) != 1 {
			return nil, false
		}
		for _, value := range wrapped {
			out = append(out, plainRow(value))
		}
	}
	return out, true
}
