package kind

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ourBound is how much longer than kind itself a boot of three nodes may take, on two processors that nothing else keeps busy.
const ourBound = 20 * time.Second

// A boot of three nodes takes little more than kind does.
func TestSpeed(t *testing.T) {
	h := newHome(t)
	busy := load(t)
	begin := time.Now()
	s := h.up("speed", "single")
	took(t, "single is up, three nodes", begin)
	ours := s.bootSteps()
	switch {
	case ours > ourBound && busy > float64(runtime.NumCPU()):
		t.Logf("more than %s beyond kind itself, on a machine with load %.1f", ourBound, busy)
	case ours > ourBound:
		t.Errorf("%s beyond kind itself, more than %s", ours.Round(time.Second), ourBound)
	}
	s.Run("down")
	h.nothingLeft()
}

// load is how many processes want a processor, of late.
func load(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// bootSteps says what each step of the boot took, and what of all was not kind's own.
func (s *sandbox) bootSteps() (ours time.Duration) {
	s.T.Helper()
	const kinds = "of which kind itself"
	is := regexp.MustCompile(`^(.*): (?:up in )?([0-9hms.µ]+)$`)
	found := false
	for _, e := range s.Since(0, "boot.step") {
		m := is.FindStringSubmatch(e.Message)
		if m == nil {
			s.T.Errorf("event boot.step says %q", e.Message)
			continue
		}
		d, err := time.ParseDuration(m[2])
		if err != nil {
			s.T.Errorf("event boot.step says %q: %v", e.Message, err)
		}
		switch {
		case m[1] == kinds:
			found = true
			ours -= d
		case !strings.HasPrefix(m[1], "of which "):
			ours += d
		}
		s.T.Logf("%6.1fs  %s", d.Seconds(), m[1])
	}
	if !found {
		s.T.Error("nothing says what kind itself has taken")
	}
	s.T.Logf("%6.1fs  beyond kind itself", ours.Seconds())
	return ours
}
