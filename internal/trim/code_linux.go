package trim

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapCode drops the page table entries of the executable's read-only parts that are still what the file holds. The
// pages stay in the page cache, so nothing is read from disk; what fails is left as it was.
func unmapCode() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer maps.Close()
	for _, m := range clean(bufio.NewScanner(maps), self) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, unix.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// clean lists the mappings of a file that cannot be written and of which no page is this process's own. A dynamic linker
// writes into a file's pages and protects them afterwards (RELRO): to drop those would undo its work.
func clean(smaps *bufio.Scanner, file string) []mapping {
	var list []mapping
	var m mapping
	wanted, own := false, false
	flush := func() {
		if wanted && !own {
			list = append(list, m)
		}
		wanted, own = false, false
	}
	for smaps.Scan() {
		line := smaps.Text()
		// 00400000-05a3c000 r-xp 00000000 fe:00 123456    /path/of/the/executable
		var next mapping
		var mode string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &next.from, &next.to, &mode); n == 3 && len(mode) == 4 {
			flush()
			m = next
			wanted = strings.HasPrefix(mode, "r") && !strings.Contains(mode, "w") && strings.HasSuffix(line, " "+file)
			continue
		}
		for _, field := range []string{"Anonymous:", "Private_Dirty:", "Swap:"} {
			if rest, ok := strings.CutPrefix(line, field); ok && strings.TrimSpace(rest) != "0 kB" {
				own = true
			}
		}
	}
	flush()
	return list
}
