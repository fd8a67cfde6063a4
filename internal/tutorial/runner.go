package tutorial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"
)

// Runner runs pages. The zero value lacks Binary. It may be used by many at once.
type Runner struct {
	Binary string // the program
	Root   string // the repository, whose tutorials folder a reader has; empty for none
	Files  fs.FS  // the tutorials folder itself, in place of Root's; nil for Root's
	// Dir is the directory of the home, which may be there from an earlier session, and which is kept until it is removed
	// by Session.Close. Empty makes one.
	Dir string

	// As is whom commands run as; nil is ourselves.
	As *syscall.Credential
	// Patience is for how long a command may run, or a background command may take to begin as expected: 2 minutes if 0.
	// A block that declares a longer wait has that.
	Patience time.Duration
	// Again is the time between two tries of a command that is waited for; 300 ms if 0.
	Again time.Duration
	// Ran is told of every command with its last output, as soon as it has been judged; nil for nobody.
	Ran func(*Command, Ran)
	// Skipped is told of every block, by its line, that is not run, and why; nil for nobody.
	Skipped func(line int, why string)
	// Offers says that what a page offers to break is broken and put right.
	Offers bool
	// Has says what is wrong with a machine that is to have what a page needs, nil if nothing; nil is this machine's.
	Has func(ctx context.Context, need string) error
	// Terminals makes other shells than the system's, for tests; nil for sh.
	Terminals func() (Shell, error)
}

// Ran is what a command did.
type Ran struct {
	Output string // both streams, with the paths of this run replaced by …
	Exit   int    // 0 as long as it runs
}

// Run runs a page from its beginning to its end, and cleans up. The first error ends it: a *Mismatch, a terminal that
// broke, or something that the page leaves running.
func (r Runner) Run(ctx context.Context, page *Page) error {
	_, err := r.all(ctx, page, false)
	return err
}

// Regenerate runs a page and returns its text with the outputs that it has now. Expectations that hold are kept as they
// are written, patterns and all; see Rewrite. Another exit status is an error, and so is something that has been waited for
// in vain.
func (r Runner) Regenerate(ctx context.Context, page *Page) (string, error) {
	ran, err := r.all(ctx, page, true)
	if err != nil {
		return "", err
	}
	return Rewrite(page, ran), nil
}

func (r Runner) all(ctx context.Context, page *Page, lenient bool) (ran map[int]Ran, err error) {
	s, err := r.Open(page)
	if err != nil {
		return nil, err
	}
	s.lenient = lenient
	defer func() {
		left, closing := s.Close(ctx)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%s: leaves behind: %s", page.File, strings.Join(left, ", "))
		}
		err = errors.Join(err, closing)
	}()
	for i := range page.Steps {
		if err := s.Step(ctx, i); err != nil {
			return s.ran, err
		}
	}
	return s.ran, s.idle()
}
