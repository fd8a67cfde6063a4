package trim

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapCode drops the page table entries of the executable's read-only parts. The pages stay in the page cache, so
// nothing is read from disk; what fails is left as it was.
func unmapCode() {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	for s := bufio.NewScanner(maps); s.Scan(); {
		var from, to uintptr
		var mode string
		// 00400000-05a3c000 r-xp 00000000 fe:00 123456    /path/of/the/executable
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x %s", &from, &to, &mode); n != 3 {
			continue
		}
		if strings.HasPrefix(mode, "r") && !strings.Contains(mode, "w") && strings.HasSuffix(s.Text(), " "+self) {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, to-from, unix.MADV_DONTNEED)
		}
	}
}
