package trim

import (
	"bufio"
	"net"
	"os"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/race"
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
	if race.Enabled {
		t.Skip("what the race detector keeps of the garbage is not measured: \"make race\" runs this without it")
	}
	garbage := make([][]byte, 64)
	for i := range garbage {
		garbage[i] = make([]byte, 1<<20)
		for j := 0; j < len(garbage[i]); j += 4096 {
			garbage[i][j] = 1
		}
	}
	file, anon := resident(t, "RssFile"), resident(t, "RssAnon")
	runtime.KeepAlive(garbage) // until here
	AfterBoot()
	if got := resident(t, "RssAnon"); got > anon-32<<10 {
		t.Errorf("anonymous memory went from %d kB to %d kB, 64 MB were garbage", anon, got)
	}
	if got := resident(t, "RssFile"); got > file+1<<10 {
		t.Errorf("mapped code went from %d kB to %d kB", file, got)
	}
	// What the process needs of its file, also through a C library where it is linked with one, is still there.
	if _, err := user.Current(); err != nil {
		t.Error(err)
	}
	if _, err := net.LookupHost("localhost"); err != nil {
		t.Error(err)
	}
}

// Pages that the dynamic linker has relocated belong to the process, independent of the mapping's mode.
func TestClean(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00000000 fe:00 1    /bin/x
Anonymous:             0 kB
Private_Dirty:         0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
00500000-00600000 r--p 00100000 fe:00 1    /bin/x
Anonymous:             0 kB
Private_Dirty:         0 kB
Swap:                  0 kB
00600000-00601000 r--p 00200000 fe:00 1    /bin/x
Anonymous:             4 kB
Private_Dirty:         4 kB
Swap:                  0 kB
00601000-00602000 r--p 00201000 fe:00 1    /bin/x
Anonymous:             0 kB
Private_Dirty:         0 kB
Swap:                  4 kB
00602000-00700000 rw-p 00202000 fe:00 1    /bin/x
Anonymous:             0 kB
7f0000000000-7f0000100000 r-xp 00000000 fe:00 2    /lib/libc.so.6
Anonymous:             0 kB
`
	got := clean(bufio.NewScanner(strings.NewReader(smaps)), "/bin/x")
	if want := []mapping{{0x400000, 0x500000}, {0x500000, 0x600000}}; !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
