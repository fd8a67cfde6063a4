package tutorial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const offered = "<!-- offer: leave broken -->\n<!-- about: Why? -->\n<!-- look: until broken -->\n<!-- undo: drop broken -->\n"

// What stands in a step is there in its order, comments left out.
func TestParts(t *testing.T) {
	p := page(t, "# T\nintro\n\n## A\none\n\n~~~yaml\na: b\n~~~\n"+offered+"\n<!-- wait 1s -->\n~~~console\n$ a\n~~~\ntwo\n\n"+
		"<!-- needs: go, docker -->\n<!-- a remark -->\n\n## B\n<!-- check: b -->\n~~~console\n$ b\n~~~\n"+offered)
	var got []string
	for _, s := range p.Steps {
		got = append(got, fmt.Sprintf("step %q %v", s.Heading, s.Needs))
		for _, part := range s.Parts {
			switch {
			case part.Block != nil:
				got = append(got, fmt.Sprintf("block of line %d, check %q", part.Block.Line, part.Block.Check))
			case part.Offer != nil:
				got = append(got, fmt.Sprintf("offer %+v", *part.Offer))
			default:
				got = append(got, fmt.Sprintf("%q", part.Text))
			}
		}
	}
	want := []string{
		`step "" []`, `"intro"`,
		`step "A" []`, `"one\n\n` + "```yaml\\na: b\\n```" + `"`,
		`offer {Line:10 Command:leave broken About:Why? Look:until broken Undo:drop broken Why:}`, `block of line 16, check ""`, `"two"`,
		`step "B" [go docker]`, `block of line 26, check "b"`,
		`offer {Line:29 Command:leave broken About:Why? Look:until broken Undo:drop broken Why:}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A check is asked until it holds, and an offer is taken up and put right.
func TestAside(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"check holds":             {"<!-- check: until it -->\n" + open + "$ leave it\n" + end + open + "$ drop it\n" + end, ""},
		"check does not":          {"<!-- wait 20ms -->\n<!-- check: until it -->\n" + open + "$ say a\na\n" + end, "x:3: $ until it: exit status 1, want 0 (tried for 20ms)"},
		"check breaks":            {"<!-- check: broken -->\n" + open + "$ say a\na\n" + end, "x:2: check: $ broken: sh ended"},
		"offer":                   {"words\n" + offered, ""},
		"offer that is not there": {"<!-- offer: fail 1 -->\n<!-- undo: say a -->\n", "x:1: $ fail 1: exit status 1, want 0"},
		"offer that stays":        {"<!-- offer: leave it -->\n<!-- undo: drop at -->\n", "x:1: undo: $ drop at: remove"},
		"another terminal":        {"<!-- check: name -->\n" + open + "$ name\nfake-1\n" + end, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.Offers = true
			p, err := Parse("x", strings.ReplaceAll(c.text, "~~~", "```"))
			if err != nil {
				t.Fatal(err)
			}
			err = l.Run(t.Context(), p)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			l.clean(t)
		})
	}
}

// TestNeeds: a block that needs something the machine lacks is skipped, with the reason.
func TestNeeds(t *testing.T) {
	l := newLab(t)
	asked := 0
	l.Has = func(_ context.Context, need string) error {
		asked++
		if need == "docker" {
			return errors.New("no docker here")
		}
		return nil
	}
	var finished []string
	l.Skipped = func(line int, why string) { finished = append(finished, fmt.Sprintf("%d: %s", line, why)) }
	err := l.Run(t.Context(), page(t, "<!-- needs: go -->\n"+open+"$ say a\na\n"+end+"<!-- needs: docker -->\n"+open+"$ broken\n"+end+
		"<!-- not run: dangerous -->\n"+open+"$ broken\n"+end+"<!-- needs: docker -->\n## B\n<!-- needs: go -->\n"+open+"$ broken\n"+end))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"7: needs docker: no docker here", "11: dangerous", "17: needs docker: no docker here"}
	if diff := cmp.Diff(want, finished); diff != "" || asked != 2 {
		t.Errorf("asked %d times, want 2; %s", asked, diff)
	}
	l.clean(t)
}

// A machine is asked as the reader would.
func TestMachine(t *testing.T) {
	l := newLab(t)
	h, err := newHome(l.Runner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := h.remove(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := h.machine(t.Context(), "go"); err != nil {
		t.Errorf("the toolchain that runs this test: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "manager"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CLUSTER_API", dir)
	if err := h.machine(t.Context(), "cluster-api"); err != nil || !slices.Contains(h.environ(), "CLUSTER_API="+dir) {
		t.Errorf("%v; the reader has %q", err, h.environ())
	}
	t.Setenv("CLUSTER_API", "")
	t.Setenv("PATH", t.TempDir())
	for need, want := range map[string]string{
		"go": "no go here", "docker": "no docker here; no podman here", "cluster-api": "no variable CLUSTER_API", "x": `unknown requirement "x"`,
	} {
		if err := h.machine(t.Context(), need); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", need, err, want)
		}
	}
}
