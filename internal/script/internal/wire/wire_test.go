package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agora-arena/arena/internal/script/internal/wire"
)

func TestRead_WhatWriteWrote(t *testing.T) {
	t.Parallel()
	requests := []wire.Request{
		{Source: "function solve() { return '<&>' }", Function: "solve", Calls: []json.RawMessage{[]byte(`[1,"two"]`), []byte(`[]`)}, Budget: 10},
		{Source: "x", Function: "f", Calls: []json.RawMessage{}, StopOnError: true},
	}
	var stream bytes.Buffer
	for _, r := range requests {
		if err := wire.Write(&stream, wire.MaxRequest, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range requests {
		var got wire.Request
		if err := wire.Read(&stream, wire.MaxRequest, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	var none wire.Request
	if err := wire.Read(&stream, wire.MaxRequest, &none); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

// Threat J1: a worker that has been taken over cannot fill the memory of the
// server, nor make it read anything but a reply.
func TestRead_Rejects(t *testing.T) {
	t.Parallel()
	for name, frame := range map[string]string{
		"half a length":   "\x00\x00",
		"nothing":         "\x00\x00\x00\x00",
		"four gigabytes":  "\xff\xff\xff\xff{}",
		"half a frame":    "\x00\x00\x00\x20{}",
		"not JSON":        "\x00\x00\x00\x02{]",
		"another member":  "\x00\x00\x00\x0b" + `{"kinds":1}`,
		"another type":    "\x00\x00\x00\x0a" + `{"kind":1}`,
		"a member twice":  "\x00\x00\x00\x1d" + `{"kind":"done","kind":"done"}`,
		"two documents":   "\x00\x00\x00\x04{}{}",
		"not UTF-8":       "\x00\x00\x00\x0c{\"kind\":\"\xff\"}",
		"too deep a list": "\x00\x01\x00\x00" + strings.Repeat("[", 1<<16),
	} {
		var r wire.Reply
		if err := wire.Read(strings.NewReader(frame), wire.MaxReply, &r); err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v, read %+v", name, err, r)
		}
	}
	if err := wire.Write(io.Discard, 10, wire.Reply{Kind: wire.Done}); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("a long frame was written: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	var good bytes.Buffer
	if err := wire.Write(&good, wire.MaxReply, wire.Reply{Kind: wire.Result, Value: "[1]", Missing: []string{"x"}}); err != nil {
		f.Fatal(err)
	}
	f.Add(good.Bytes())
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		var r wire.Reply
		if err := wire.Read(bytes.NewReader(stream), wire.MaxReply, &r); err != nil {
			return
		}
		var again bytes.Buffer
		if err := wire.Write(&again, 2*wire.MaxReply, r); err != nil {
			t.Fatal(err)
		}
		var same wire.Reply
		if err := wire.Read(&again, 2*wire.MaxReply, &same); err != nil || cmp.Diff(r, same) != "" {
			t.Errorf("%v, %s", err, cmp.Diff(r, same))
		}
	})
}
