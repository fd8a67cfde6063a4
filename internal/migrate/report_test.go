package migrate

import (
	"strings"
	"testing"
)

// The report is compared with the bytes of the file: a line that is left out, told twice or not judged is a mistake.
func TestAccount(t *testing.T) {
	const text = "[Global]\n# a comment\nuser = a\n\nport = 1\n"
	line := func(n int) Line { return Line{Line: n, Last: n, What: "x", Verdict: Kept} }
	for name, tc := range map[string]struct {
		lines []Line
		want  string
	}{
		"all":        {lines: []Line{line(1), line(3), line(5)}},
		"left out":   {[]Line{line(1), line(5)}, "line 3 of f is told of 0 times"},
		"twice":      {[]Line{line(1), line(3), line(3), line(5)}, "line 3 of f is told of 2 times"},
		"overlapped": {[]Line{line(1), {Line: 3, Last: 5, What: "x", Verdict: Kept}, line(5)}, "line 5 of f is told of 2 times"},
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

// A comment is counted wherever it stands, and what only looks like one in quotes is none.
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

// What has addresses chosen from one network is to be looked at, where it does.
func TestNetworkIsAttended(t *testing.T) {
	corpus(t, func(t *testing.T, _ string, _ []byte, m *Migration) {
		name := m.Config.Nodes.InternalVMNetwork
		if told := strings.Contains(strings.Join(m.Report.Todo, "\n"), "adapter in the network "+name); told != (name != "" && m.Report.Dialect == InTree) {
			t.Errorf("network %q, told: %v", name, told)
		}
	})
}
