package migrate

import (
	"strings"
	"testing"
)

// TestAccount: a line that the report leaves out, has twice or does not judge is a bug.
func TestAccount(t *testing.T) {
	const text = "[Global]\n# a comment\nuser = a\n\nport = 1\n"
	line := func(n int) Line { return Line{Line: n, Last: n, What: "x", Verdict: Kept} }
	for name, tc := range map[string]struct {
		lines []Line
		want  string
	}{
		"all":        {lines: []Line{line(1), line(3), line(5)}},
		"left out":   {[]Line{line(1), line(5)}, "line 3 of f is reported 0 times"},
		"twice":      {[]Line{line(1), line(3), line(3), line(5)}, "line 3 of f is reported 2 times"},
		"overlapped": {[]Line{line(1), {Line: 3, Last: 5, What: "x", Verdict: Kept}, line(5)}, "line 5 of f is reported 2 times"},
		"not judged": {[]Line{line(1), line(3), {Line: 5, Last: 5, What: "[Global] port"}}, "nothing is known of line 5, [Global] port"},
	} {
		c := &conversion{name: "f", text: []byte(text)}
		comments, err := c.account(tc.lines)
		switch {
		case tc.want == "" && (err != nil || comments != 1):
			t.Errorf("%s: %d comments, %v", name, comments, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestComments: comments are counted anywhere, but not in quotes.
func TestComments(t *testing.T) {
	corpus(t, func(t *testing.T, path string, _ []byte, m *Migration) {
		if !strings.HasSuffix(path, "in-tree-line-comments.conf") {
			return
		}
		if todo := strings.Join(m.Report.Todo, "\n"); !strings.Contains(todo, "lines of them: 6.") {
			t.Error(todo)
		}
	})
}

// TestNetworkIsAttended: the report asks the user to check addresses that come from one network.
func TestNetworkIsAttended(t *testing.T) {
	corpus(t, func(t *testing.T, _ string, _ []byte, m *Migration) {
		name := m.Config.Nodes.InternalVMNetwork
		if reported := strings.Contains(strings.Join(m.Report.Todo, "\n"), "adapter in the network "+name); reported != (name != "" && m.Report.Dialect == InTree) {
			t.Errorf("network %q, told: %v", name, reported)
		}
	})
}
