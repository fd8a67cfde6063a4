package trim

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// resident returns a figure of this process's memory in kB.
func resident(t *testing.T, field string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kb
		}
	}
	t.Fatalf("no %s", field)
	return 0
}

func TestAfterBoot(t *testing.T) {
	garbage := make([][]byte, 64)
	for i := range garbage {
		garbage[i] = make([]byte, 1<<20)
		for j := 0; j < len(garbage[i]); j += 4096 {
			garbage[i][j] = 1
		}
	}
	file, anon := resident(t, "RssFile"), resident(t, "RssAnon")
	garbage = nil
	AfterBoot()
	if got := resident(t, "RssAnon"); got > anon-32<<10 {
		t.Errorf("anonymous memory went from %d kB to %d kB, 64 MB were garbage", anon, got)
	}
	if got := resident(t, "RssFile"); got > file {
		t.Errorf("mapped code went from %d kB to %d kB", file, got)
	}
	if _, err := strconv.Atoi("1"); err != nil { // the code is still there
		t.Error(err)
	}
}
