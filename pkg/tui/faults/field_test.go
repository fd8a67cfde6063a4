package faults

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/text"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/tuitest"
)

func TestFieldKeys(t *testing.T) {
	choices := []string{"", "one", "all"}
	suggest := func(value string) string {
		if value == "wor" {
			return "ker"
		}
		return ""
	}
	for _, tt := range []struct {
		name, value string
		choices     []string
		keys, want  string // | is the cursor
	}{
		{"written", "", nil, "a b space ä", "ab ä|"},
		{"in the middle", "abc", nil, "left left X", "aX|bc"},
		{"cut off before", "abc", nil, "left backspace", "a|c"},
		{"cut off after", "abc", nil, "home delete", "|bc"},
		{"at the ends", "abc", nil, "home backspace left end delete right", "abc|"},
		{"words", "one two  ", nil, "ctrl+w", "one |"},
		{"to the begin", "one two", nil, "left ctrl+u", "|o"},
		{"to the end", "one two", nil, "ctrl+a right ctrl+k", "o|"},
		{"ctrl keys move", "abc", nil, "ctrl+b ctrl+b ctrl+f x", "abx|c"},
		{"a suggestion", "", nil, "w o r right", "worker|"},
		{"a suggestion at the end", "", nil, "w o r ctrl+e", "worker|"},
		{"no suggestion in the middle", "", nil, "w o r left right", "wor|"},
		{"a choice", "", choices, "right", "one|"},
		{"round", "", choices, "left left left", "|"},
		{"written over a choice", "", choices, "right 5 0 %", "50%|"},
		{"a choice from what is none", "", choices, "x right", "|"},
		{"backwards from what is none", "", choices, "x left", "all|"},
	} {
		f := &field{choices: tt.choices, suggest: suggest}
		f.write(tt.value)
		for k := range strings.FieldsSeq(tt.keys) {
			if !f.handle(tuitest.Key(k)) {
				t.Errorf("%s: %s is not taken", tt.name, k)
			}
		}
		got := string(f.Runes[:f.At]) + "|" + string(f.Runes[f.At:])
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if (&field{}).handle(tuitest.Key("f1")) {
		t.Error("a key that writes nothing is taken")
	}
}

// What is pasted cannot move the cursor of the terminal.
func TestFieldIsClean(t *testing.T) {
	f := &field{}
	f.typed("a\x1b[2Jb\nc\x00")
	if f.text() != `ab c\x00` {
		t.Errorf("%q", f.text())
	}
}

func TestFieldView(t *testing.T) {
	th := theme.Mono()
	for _, f := range []*field{
		{empty: "nothing said"},
		{Edit: text.Edit{Runes: []rune("a value that is longer than there is room for"), At: 45}},
		{Edit: text.Edit{Runes: []rune("a value that is longer than there is room for"), At: 20}},
		{Edit: text.Edit{Runes: []rune("世界世界世界世界世界"), At: 10}},
		{Edit: text.Edit{Runes: []rune("one"), At: 3}, choices: []string{"one", "two"}},
		{Edit: text.Edit{Runes: []rune("wor"), At: 3}, suggest: func(string) string { return "ker-with-a-long-name-of-its-own" }},
		{},
	} {
		for width := range 40 {
			for _, focused := range []bool{true, false} {
				if got := text.Width(f.view(th, width, focused)); got != width {
					t.Errorf("%q, focused %t: %d cells, want %d", f.String(), focused, got, width)
				}
			}
		}
	}
	f := &field{Edit: text.Edit{Runes: []rune("the end is seen"), At: 15}}
	if got := ansi.Strip(f.view(th, 10, true)); got != "d is seen " {
		t.Errorf("where one writes is not seen: %q", got)
	}
}
