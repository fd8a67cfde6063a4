package tutorials

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

var update = flag.Bool("update", false, "rewrite the outputs in the pages")

const (
	// words are what a user reads within ten minutes, with time left for the commands.
	words = 1400
	// longest is what a whole page may take to run; a reader waits for it, too.
	longest = 4 * time.Minute
)

// core are the pages that -short runs; of the others it looks at the text alone.
func core() []string { return []string{"01-first-run", "05-node-deletion"} }

// Every tutorial does what it says.
func TestTutorials(t *testing.T) {
	first := time.Now()
	defer func() { fmt.Fprintf(os.Stderr, "tutorials: %s for all pages\n", time.Since(first).Round(time.Second)) }()
	for _, page := range pages(t) {
		t.Run(page.Name, func(t *testing.T) {
			for _, err := range page.Check() {
				t.Error(err)
			}
			if n := page.WordCount(); n > words {
				t.Errorf("%s: %d words are more than ten minutes; at most %d", page.File, n, words)
			}
			if testing.Short() && !slices.Contains(core(), page.Name) {
				return
			}
			begin := time.Now()
			r := runner(t, page)
			if !*update {
				if err := r.Run(until(t), page); err != nil {
					// At once, too: what has been run comes before it in the log, and that is long.
					fmt.Fprintln(os.Stderr, err)
					t.Fatal(err)
				}
			} else {
				text, err := r.Regenerate(until(t), page)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(page.File, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if took := time.Since(begin); took > longest {
				t.Errorf("%s: took %s, more than %s", page.File, took.Round(time.Second), longest)
			}
		})
	}
}

// The pages that stand for all are there.
func TestCore(t *testing.T) {
	for _, name := range core() {
		if !slices.ContainsFunc(pages(t), func(p *tutorial.Page) bool { return p.Name == name }) {
			t.Errorf("there is no tutorial %s", name)
		}
	}
}

// A page that is no longer true fails, at the wrong line, and still leaves nothing.
func TestUntrue(t *testing.T) {
	const first = "01-first-run"
	root := t.TempDir()
	if err := os.CopyFS(filepath.Join(root, "tutorials"), os.DirFS(filepath.Join("..", "..", "tutorials"))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "tutorials", first, "README.md")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// What a change of behavior would do: the zone of one node is another one, in the first table of nodes.
	before, after, found := strings.Cut(string(data), "us-west\n")
	if !found {
		t.Fatalf("%s: no node in us-west", file)
	}
	if err := os.WriteFile(file, []byte(before+"us-north\n"+after), 0o644); err != nil {
		t.Fatal(err)
	}
	page, err := tutorial.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, page)
	r.Root = root
	var m *tutorial.Mismatch
	if err := r.Run(until(t), page); !errors.As(err, &m) {
		t.Fatalf("the page was run, with %v", err)
	}
	line := strings.Count(before, "\n") + 1
	if m.File != file || m.Line != line || !strings.Contains(m.Want, "us-north") || !strings.Contains(m.Got, "us-west") {
		t.Errorf("fails otherwise than at line %d: %v", line, m)
	}
}

func pages(t *testing.T) []*tutorial.Page {
	t.Helper()
	all, err := tutorial.List(filepath.Join("..", "..", "tutorials"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("there are no tutorials")
	}
	return all
}

// skipped says at once what is not run: a log is not shown when all is well.
func skipped(t *testing.T, page *tutorial.Page, line int, why string) {
	t.Helper()
	for need, target := range map[string]string{"docker": "test-kind", "cluster-api": "cluster-api"} {
		if strings.HasPrefix(why, "needs "+need) {
			why += "; \"make " + target + "\" runs it"
		}
	}
	fmt.Fprintf(os.Stderr, "%s:%d: not run: %s\n", page.File, line, why)
}

func runner(t *testing.T, page *tutorial.Page) tutorial.Runner {
	return tutorial.Runner{
		Binary: binary, Root: filepath.Join("..", ".."), As: as,
		Ran: func(c *tutorial.Command, r tutorial.Result) {
			t.Logf("%d: $ %s\n%s", c.Line, c.Text, r.Output)
		},
		Skipped: func(line int, why string) { skipped(t, page, line, why) },
		Offers:  true,
	}
}
