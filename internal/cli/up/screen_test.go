package up

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Buffered output is written in order when the writer is released, and later output at once.
func TestHeldWriter(t *testing.T) {
	var heard strings.Builder
	c := &heldWriter{w: &heard, holding: true}
	fmt.Fprintln(c, "one")
	fmt.Fprintln(c, "two")
	if heard.Len() > 0 {
		t.Errorf("heard %q through it", heard.String())
	}
	var releasing sync.WaitGroup
	for range 3 { // as at the end of the UI, and of the sandbox
		releasing.Go(c.release)
	}
	releasing.Wait()
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
