package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// inputs is a hash of all that decides what is in an image: the files of this folder but its texts and tests, the Go
// release, the architecture. It is 12 hexadecimal digits, and the same on every machine.
func inputs(source string) (string, error) {
	all := sha256.New()
	fmt.Fprintln(all, runtime.Version(), runtime.GOARCH)
	err := filepath.WalkDir(source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		if !input(filepath.ToSlash(name)) {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// Of a file's mode, only whether it is a program gets into the image.
		fmt.Fprintf(all, "%s %t %x\n", filepath.ToSlash(name), info.Mode()&0o111 != 0, sha256.Sum256(data))
		return nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", all.Sum(nil))[:12], nil
}

// input tells whether a file, by its path with slashes, has an effect on the image.
func input(name string) bool {
	switch {
	case strings.HasPrefix(name, "programs/"), strings.HasPrefix(name, "rootfs/"):
		return !strings.HasSuffix(name, "_test.go")
	case strings.Contains(name, "/"):
		return false
	default:
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	}
}
