package kind

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// fake is a runtime whose commands a test answers.
type fake struct {
	t *testing.T
	// answers are what commands print, by how they begin; the longest beginning counts. A text that begins with "!" is what
	// the command says as it fails.
	answers map[string]string

	mu    sync.Mutex
	calls []string
}

func (f *fake) Run(_ context.Context, c runtime.Call) error {
	line := strings.Join(c.Args, " ")
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, line)
	best, found := "", false
	for begin := range f.answers {
		if strings.HasPrefix(line, begin) && len(begin) >= len(best) {
			best, found = begin, true
		}
	}
	if !found {
		f.t.Errorf("unexpected: %s", line)
		return &runtime.ExitError{Status: 1}
	}
	if said, failed := strings.CutPrefix(f.answers[best], "!"); failed {
		fmt.Fprintln(c.Stderr, said)
		return &runtime.ExitError{Status: 1}
	}
	if c.Stdout != nil {
		_, _ = io.WriteString(c.Stdout, f.answers[best])
	}
	return nil
}

// called returns the calls that begin so.
func (f *fake) called(begin string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var got []string
	for _, c := range f.calls {
		if strings.HasPrefix(c, begin) {
			got = append(got, c)
		}
	}
	return got
}

// faked returns docker with these answers.
func faked(t *testing.T, answers map[string]string) (*runtime.Runtime, *fake) {
	f := &fake{t: t, answers: answers}
	return runtime.With("docker", f), f
}
