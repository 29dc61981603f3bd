package join

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agora-arena/agora-go/arenaagent"
)

const plenty = 30 * time.Second

func TestCommand_answers(t *testing.T) {
	t.Parallel()
	task := &arenaagent.Task{Description: "What is the capital of Australia?", Options: []string{"Canberra", "Sydney"}}
	for name, test := range map[string]struct {
		args  []string
		value string
		raw   string
	}{
		"last line":       {[]string{"first option"}, "Canberra", ""},
		"marker":          {[]string{"print", "Thinking.\nANSWER: canberra"}, "canberra", ""},
		"JSON in a fence": {[]string{"print", "```json\n{\"answer\": 42}\n```\n"}, "", `{"answer": 42}`},
		"JSON":            {[]string{"print", ` {"answer": 42, "tokens": 7}` + "\n"}, "", `{"answer": 42, "tokens": 7}`},
		"JSON and more":   {[]string{"print", `{"answer": 1}` + "\nSydney"}, "Sydney", ""},
		"JSON without it": {[]string{"print", `{"result": 1}`}, `{"result": 1}`, ""},
	} {
		got, err := answered(t, stubCommand(t, nil, test.args...), task, plenty)
		if err != nil || got.Value != test.value || string(got.Raw) != test.raw {
			t.Errorf("%s: %q %s, %v", name, got.Value, got.Raw, err)
		}
	}
}

// The program gets the prompt, an empty folder and no secret of the arena.
// Threat M1.
func TestCommand_world(t *testing.T) {
	t.Parallel()
	task := &arenaagent.Task{Description: "What is the capital of Australia?"}
	got, err := answered(t, stubCommand(t, nil, "input"), task, plenty)
	var reply struct {
		Answer string   `json:"answer"`
		Folder string   `json:"folder"`
		Env    []string `json:"env"`
	}
	if err != nil || json.Unmarshal(got.Raw, &reply) != nil ||
		!strings.HasPrefix(reply.Answer, defaultPrompt+"\n\n<task-") || !strings.Contains(reply.Answer, ">\n"+textOf(task)+"</task-") {
		t.Errorf("input is %s, %v", got.Raw, err)
	}
	got, err = answered(t, stubCommand(t, []string{"ARENA_AGENT_KEY=secret", "Arena_Token=secret", "OPENAI_API_KEY=own"}, "world"), task, plenty)
	if err != nil || json.Unmarshal(got.Raw, &reply) != nil {
		t.Fatalf("%s, %v", got.Raw, err)
	}
	here, _ := os.Getwd()
	if reply.Answer != "0" || reply.Folder == here {
		t.Errorf("it ran in %s beside %s files", reply.Folder, reply.Answer)
	}
	if _, err := os.Stat(reply.Folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	// The whole environment is not printed: it may hold secrets of this machine.
	if strings.Contains(strings.Join(reply.Env, "\n"), "=secret") {
		t.Error("the environment has a secret of the arena")
	}
	if !slices.Contains(reply.Env, "OPENAI_API_KEY=own") {
		t.Error("the environment lacks OPENAI_API_KEY")
	}
}

// Threat M1.
func TestCommand_fails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		is   error
		want string
	}{
		"flood":        {[]string{"flood"}, errOutput, "more than 1 MiB"},
		"flood stderr": {[]string{"flood stderr"}, errOutput, "more than 1 MiB"},
		"dies":         {[]string{"die"}, nil, "exit status 7: cannot log in"},
		"silent":       {[]string{"print", " \n\n"}, errNoAnswer, "no answer"},
		"hangs":        {[]string{"hang"}, arenaagent.ErrTimeout, "killed at the deadline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limit := plenty
			if name == "hangs" {
				limit = 200 * time.Millisecond
			}
			got, err := answered(t, stubCommand(t, nil, test.args...), &arenaagent.Task{}, limit)
			if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q, %v; want %q", got.Value, err, test.want)
			}
		})
	}
	t.Run("not found", func(t *testing.T) {
		t.Parallel()
		if _, err := NewCommand("no-such-program -p", "", nil); err == nil || !strings.Contains(err.Error(), "no-such-program") {
			t.Error(err)
		}
		gone := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(gone, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		c, err := NewCommand(quote(gone), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(gone); err != nil {
			t.Fatal(err)
		}
		if _, err := answered(t, c, &arenaagent.Task{}, plenty); !errors.Is(err, arenaagent.ErrUnavailable) {
			t.Errorf("a program that vanished: %v", err)
		}
	})
}

func TestCommand_name(t *testing.T) {
	t.Parallel()
	c, err := NewCommand("sh -c 'cat'", "", nil)
	if err != nil || c.Name() != "sh" || !filepath.IsAbs(c.path) || c.Stray() != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err = NewCommand("sh setup_test.go", "", nil); err != nil || c.Stray() != "setup_test.go" {
		t.Errorf("%+v, %v", c, err)
	}
}
