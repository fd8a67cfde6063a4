package glob_test

import (
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
)

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"?", "", false},
		{"worker-*", "worker-1", true},
		{"worker-*", "Worker-1", false},
		{"*/east/*", "/dc/vm/east/worker-1", true},
		{"w?rker", "wörker", true},
		{"w??rker", "wörker", false},
		{"*?", "ö", true},
		{"*??", "ö", false},
		{"*??rk", "wörk", true},
		{"*??k", "ök", false},
		{"a*b*c", "aXbXbXc", true},
		{"a*b*c", "aXbXbX", false},
		{"[ab]", "a", false},
		{"[ab]", "[ab]", true},
		{`\*`, `\x`, true},
		{"a**", "a", true},
		{"?", "\xff", true},
		{"*", "a/b c", true},
		{"a*c", "abbc", true},
		{"a*c", "abcd", false},
		{"*b*", "abc", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"*_Task", "PowerOnVM_Task", true},
		{"**a**", "xax", true},
		{"a*b*c", "aXbYbZc", true},
		{"x?~action=get", "x?~action=get", true},
	} {
		if got := glob.Match(tc.pattern, tc.text); got != tc.want {
			t.Errorf("Match(%q, %q) = %t", tc.pattern, tc.text, got)
		}
	}
	if !glob.Fold("WORKER-?", "worker-Ö") {
		t.Error("Fold regards case")
	}
	if glob.IsPattern("worker-1") || !glob.IsPattern("worker-?") || !glob.IsPattern("*") {
		t.Error("IsPattern")
	}
}

// No pattern takes noticeable time.
func TestMatchIsQuick(t *testing.T) {
	begin := time.Now()
	if glob.Match(strings.Repeat("a*", 1000)+"b", strings.Repeat("a", 10_000)) {
		t.Error("matches")
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Error(took)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a*?b", "aöb")
	f.Add("*??k", "ök")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if len(pattern) > 50 || strings.Contains(pattern, `\`) || !utf8.ValidString(pattern) || !utf8.ValidString(text) {
			t.Skip()
		}
		re := regexp.MustCompile("(?s)^(?:" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + ")$")
		if got, want := glob.Match(pattern, text), re.MatchString(text); got != want {
			t.Errorf("Match(%q, %q) = %t, want %t", pattern, text, got, want)
		}
	})
}
