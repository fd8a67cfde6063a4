package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// libraries is where Debian keeps shared libraries.
const libraries = "usr/lib/x86_64-linux-gnu"

// loader is the library that programs name as their interpreter, at /lib64.
const loader = "ld-linux-x86-64.so.2"

// needed are the shared libraries that programs and libraries of a root need, and what those need, as paths in the root
// with the loader's among them. A missing one is an error: the program would only fail when it is run.
func needed(root string, files []string) ([]string, error) {
	found := []string{libraries + "/" + loader}
	for todo := slices.Clone(files); len(todo) > 0; todo = todo[1:] {
		f, err := elf.Open(filepath.Join(root, todo[0]))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", todo[0], err)
		}
		names, err := f.ImportedLibraries()
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", todo[0], err)
		}
		for _, name := range names {
			path := filepath.Join(libraries, name)
			if slices.Contains(found, path) {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				return nil, fmt.Errorf("%s needs %s: %w", todo[0], name, err)
			}
			found = append(found, path)
			todo = append(todo, path)
		}
	}
	slices.Sort(found)
	return found, nil
}
