package tutorial

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const sample = `# A title

Words before the first step.

## One

Three words here.

<!-- wait 20s -->
<!-- terminal 2 -->

~~~console
$ cat > f <<'EOF'
> a
>   b
> EOF
$ get things
NAME   AGE
a      …

b      1s

~~~

<!-- only a comment, above words -->
More words.

~~~yaml
$ not: a command
~~~

## Two

<!-- background -->
~~~console
$ serve
up
~~~

<!-- exit 130 -->
~~~console
^C
stopped
~~~

<!-- not run: it is dangerous -->
~~~console
$ rm -rf /
~~~
`

func page(t *testing.T, text string) *Page {
	t.Helper()
	p, err := Parse("tutorials/07-x/README.md", strings.ReplaceAll(text, "~~~", "```"))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	p := page(t, sample)
	want := &Page{
		File: "tutorials/07-x/README.md", Name: "07-x", Title: "A title",
		Steps: []Step{
			{Prose: "Words before the first step."},
			{
				Heading: "One", Line: 5, Prose: "Three words here.\n\n\nMore words.",
				Blocks: []Block{{
					Line: 12, Terminal: 2, Wait: 20 * time.Second,
					Commands: []Command{
						{Line: 13, Text: "cat > f <<'EOF'\na\n  b\nEOF"},
						{Line: 17, Text: "get things", Want: []Line{{18, "NAME   AGE"}, {19, "a      …"}, {20, ""}, {21, "b      1s"}}},
					},
				}},
			},
			{
				Heading: "Two", Line: 32,
				Blocks: []Block{
					{Line: 35, Terminal: 1, Background: true, Commands: []Command{{Line: 36, Text: "serve", Want: []Line{{37, "up"}}}}},
					{Line: 41, Terminal: 1, Exit: 130, Commands: []Command{{Line: 42, Interrupt: true, Want: []Line{{43, "stopped"}}}}},
					{Line: 47, Terminal: 1, NotRun: "it is dangerous", Commands: []Command{{Line: 48, Text: "rm -rf /"}}},
				},
			},
		},
	}
	squash := cmpopts.AcyclicTransformer("squash", func(s Step) Step {
		for strings.Contains(s.Prose, "\n\n\n") {
			s.Prose = strings.ReplaceAll(s.Prose, "\n\n\n", "\n\n")
		}
		return s
	})
	want.Steps[1].Prose = "Three words here.\n\nMore words."
	if diff := cmp.Diff(want, p, cmpopts.IgnoreUnexported(Page{}), cmpopts.IgnoreFields(Step{}, "Parts"), squash); diff != "" {
		t.Error(diff)
	}
	if got := p.WordCount(); got != 10 {
		t.Errorf("%d words, want 10", got)
	}
}

// TestParseErrors: each mistake is reported with its line.
func TestParseErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no end":                 {"~~~console\n$ a\n", "x:1: the block has no end"},
		"no command":             {"~~~console\n~~~\n", "x:1: no command in the block"},
		"output first":           {"~~~console\nhello\n$ a\n~~~\n", "x:2: output before the first command"},
		"misspelled":             {"<!-- wiat 5s -->\n~~~console\n$ a\n~~~\n", `x:1: "wiat 5s" is no directive; did you mean "wait"?`},
		"no time":                {"<!-- wait long -->\n~~~console\n$ a\n~~~\n", `x:1: "wait long": time: invalid duration "long"`},
		"time of nothing":        {"<!-- wait 0s -->\n~~~console\n$ a\n~~~\n", `x:1: "wait 0s": 0s is no time to wait`},
		"terminal":               {"<!-- terminal 0 -->\n~~~console\n$ a\n~~~\n", `x:1: "terminal 0": "0" is not a number from 1 to 9`},
		"exit":                   {"<!-- exit 0 -->\n~~~console\n$ a\n~~~\n", `x:1: "exit 0": "0" is not a number from 1 to 255`},
		"no reason":              {"<!-- not run -->\n~~~console\n$ a\n~~~\n", `x:1: "not run": a reason is missing`},
		"above words":            {"<!-- wait 5s -->\nwords\n", `x:1: "wait 5s" is not above a block of commands`},
		"above another":          {"<!-- exit 1 -->\n~~~sh\na\n~~~\n", `x:1: "exit 1" is not above a block of commands`},
		"at the end":             {"words\n<!-- background -->\n", `x:2: "background" is not above a block of commands`},
		"background too":         {"<!-- background now -->\n~~~console\n$ a\n~~~\n", `x:1: "background now": "now" is too much`},
		"wait, background":       {"<!-- wait 5s -->\n<!-- background -->\n~~~console\n$ a\n~~~\n", "x:3: a background command is waited for anyway"},
		"interrupt, go on":       {"<!-- background -->\n~~~console\n^C\n~~~\n", "x:2: ^C leaves nothing in the background"},
		"misspelled, with colon": {"<!-- offr: a -->\nwords\n", `x:1: "offr: a" is no directive; did you mean "offer"?`},
		"no check":               {"<!-- check: -->\n~~~console\n$ a\n~~~\n", `x:1: "check:": a command is missing`},
		"check above words":      {"<!-- check: a -->\nwords\n", `x:1: "check: a" is not above a block of commands`},
		"check above a heading":  {"<!-- check: a -->\n## H\n", `x:1: "check: a" is not above a block of commands`},
		"needs nothing":          {"<!-- needs: -->\n~~~console\n$ a\n~~~\n", `x:1: "needs:": what is needed is missing: one of docker, go, root, cluster-api`},
		"needs what is not":      {"<!-- needs: dokcer -->\n## H\n", `x:1: "needs: dokcer": "dokcer" is nothing to be needed: did you mean "docker"?`},
		"needs above words":      {"<!-- needs: go -->\nwords\n", `x:1: "needs: go" is not above a block of commands`},
		"offer without undo":     {"<!-- offer: a -->\nwords\n", `x:1: the offer has no "undo: COMMAND"`},
		"offer without end":      {"<!-- offer: a -->\n", `x:1: the offer has no "undo: COMMAND"`},
		"no offer":               {"<!-- undo: a -->\n~~~console\n$ a\n~~~\n", `x:1: "undo: a": an offer begins with "offer: COMMAND"`},
		"offer of nothing":       {"<!-- offer: -->\n", `x:1: "offer:": nothing is said`},
		"offer twice":            {"<!-- offer: a -->\n<!-- undo: b -->\n<!-- undo: b -->\n", `x:3: "undo: b": there is one already`},
		"several at once":        {"<!-- exit 0 -->\n~~~console\n~~~\n", "x:2: no command in the block"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x", strings.ReplaceAll(c.text, "~~~", "```"))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	const long, run, end = "You learn it. Ten minutes,\nand no more.\n", "## A\n~~~console\n$ a\n~~~\n", "## What you saw, and why\n## On a real vCenter\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"all there":   {"# T\n\n" + long + run + end, nil},
		"no title":    {long + run + end, []string{"no title"}},
		"no time":     {"# T\n\nEleven minutes.\n" + run + end, []string{"how many minutes"}},
		"nothing run": {"# T\n\n" + long + "<!-- not run: no -->\n~~~console\n$ a\n~~~\n" + end, []string{"nothing in it is run"}},
		"no end":      {"# T\n\n" + long + run, []string{"ends with the sections"}},
		"wrong order": {"# T\n\n" + long + run + "## On a real vCenter\n## What you saw, and why\n", []string{"ends with the sections"}},
		"too short":   {"", []string{"no title", "how many minutes", "nothing in it is run", "ends with the sections"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := page(t, c.text).Check()
			if len(got) != len(c.want) {
				t.Fatalf("got %v, want %q", got, c.want)
			}
			for i := range got {
				if !strings.Contains(got[i].Error(), c.want[i]) {
					t.Errorf("got %v, want %s", got[i], c.want[i])
				}
			}
		})
	}
}
