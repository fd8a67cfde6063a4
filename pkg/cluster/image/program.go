package image

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// architecture is what a program was built for, as images name it. The error says why a program cannot run in an image that
// has nothing but it.
func architecture(file string) (string, error) {
	f, err := elf.Open(file)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return "", fmt.Errorf("a program for an image: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: pods run programs for Linux, and it is none (%w); this machine is %s: take the Linux build of this program",
			file, err, runtime.GOOS)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s: it needs shared libraries, which an image of it alone has not; build it with CGO_ENABLED=0", file)
		}
	}
	switch f.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("%s: a program for %v: amd64 and arm64 are known", file, f.Machine)
	}
}
