package doctor

import (
	"bufio"
	"fmt"
	"os"
)

// memory reads what the kernel thinks can be had without swapping.
func memory() (uint64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var kib uint64
		if n, _ := fmt.Sscanf(s.Text(), "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("%s: there is no MemAvailable", f.Name())
}
