package up

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// What is said behind the curtain is heard when it is lifted, in order, and what is said then at once.
func TestCurtain(t *testing.T) {
	var heard strings.Builder
	c := &curtain{w: &heard, drawn: true}
	fmt.Fprintln(c, "one")
	fmt.Fprintln(c, "two")
	if heard.Len() > 0 {
		t.Errorf("heard %q through it", heard.String())
	}
	var lifting sync.WaitGroup
	for range 3 { // as whoever leaves, and whoever ends the sandbox
		lifting.Go(c.lift)
	}
	lifting.Wait()
	fmt.Fprintln(c, "three")
	if got := heard.String(); got != "one\ntwo\nthree\n" {
		t.Errorf("heard %q", got)
	}
}

// A sandbox without a screen has nothing to close.
func TestNoScreen(t *testing.T) {
	var s *screen
	if err := s.end(); err != nil {
		t.Error(err)
	}
}
