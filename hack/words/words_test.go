package main

import (
	"strings"
	"testing"
)

// TestText: words are found where people read, with their lines, and nowhere else.
func TestText(t *testing.T) {
	words, err := parse(listed)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, data string
		want       []int // lines
	}{
		{"a.go", "package a\n\n// Told is anew.\nfunc told() { _ = \"nobody\" }\n", []int{3, 3, 4, 4}},
		{"a.go", "package a\n\n/* one\nwhoever */\nvar wasTold = 1\n", []int{4, 5}},
		{"a_test.go", "package a\n\nvar s = \"nobody\" // told\n", []int{3}},
		{"a.md", "It goes on.\n```\nanew\n```\nUse `anew`.\nAnewly is no word.\n", []int{1}},
		{"a.yaml", "told: 1 # anew\ndescription: nobody\n", []int{1, 2}},
		{"a.md", "vcenter.password-told is told\n", []int{1}},
		{"test/program/unprivileged.go", "package a\n\nconst name = \"nobody\" // anew\n", []int{3}},
		{"help.golden", "what is hoped for\n", []int{1}},
		{"hack/words/words.yaml", "# anew\n", nil},
		{"a.png", "anew\n", nil},
	} {
		var got []int
		if read := reader(test.name); read != nil {
			lines, err := read(test.name, []byte(test.data))
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
			}
			for _, l := range lines {
				for _, w := range words {
					for range w.find(test.name, l.text) {
						got = append(got, l.number)
					}
				}
			}
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: %q: found in lines %v, want %v", test.name, test.data, got, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: found in lines %v, want %v", test.name, got, test.want)
			}
		}
	}
}

// TestList: an entry without a reason, or that is no regular expression, is refused.
func TestList(t *testing.T) {
	for _, bad := range []string{"- word: a\n  write: b\n", "- word: a(\n  write: b\n  why: c\n", "- wrod: a\n", "word: a\n"} {
		if _, err := parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), "words.yaml") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
