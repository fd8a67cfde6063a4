package kind

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/tutorial"
)

// Steps of tutorials that need Docker are run here, where there is one. All else of those pages is run by test/tutorials, as
// an ordinary user.
func TestTutorials(t *testing.T) {
	h := newHome(t)
	t.Setenv("DOCKER_HOST", engine.host())
	pages, err := tutorial.List(filepath.Join("..", "..", "tutorials"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages {
		docker := slices.DeleteFunc(slices.Clone(page.Steps), func(s tutorial.Step) bool { return !slices.Contains(s.Needs, "docker") })
		if len(docker) == 0 {
			continue
		}
		ran++
		t.Run(page.Name, func(t *testing.T) {
			part := *page
			part.Steps = append([]tutorial.Step{names(t, page)}, docker...)
			r := tutorial.Runner{
				Binary: h.Binary, Root: filepath.Join("..", ".."), Patience: bootBound,
				Ran:     func(c *tutorial.Command, r tutorial.Result) { t.Logf("%d: $ %s\n%s", c.Line, c.Text, r.Output) },
				Skipped: func(line int, why string) { t.Errorf("%s:%d: not run: %s", page.File, line, why) },
			}
			if err := r.Run(t.Context(), &part); err != nil {
				t.Fatal(err)
			}
		})
	}
	if ran == 0 {
		t.Error("no page has a step that needs Docker")
	}
}

// names is what a page begins with for all of its commands: PATH and aliases, which print nothing.
func names(t *testing.T, page *tutorial.Page) tutorial.Step {
	t.Helper()
	for _, s := range page.Steps {
		for _, b := range s.Blocks {
			if b.NotRun != "" {
				continue
			}
			quiet := slices.IndexFunc(b.Commands, func(c tutorial.Command) bool { return len(c.Want) > 0 })
			if quiet > 0 {
				b.Commands = b.Commands[:quiet]
			}
			b.Exit, b.Background = 0, false
			return tutorial.Step{Heading: s.Heading, Line: s.Line, Blocks: []tutorial.Block{b}, Parts: []tutorial.Part{{Block: &b}}}
		}
	}
	t.Fatalf("%s: nothing is run", page.File)
	return tutorial.Step{}
}
