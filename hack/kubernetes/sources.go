package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// packSources writes the sources that a Kubernetes program is built from: the module kubernetes/, and the packages of this
// module that it imports, without tests. The same sources make the same file.
func packSources(to string) (err error) {
	files, err := sourceFiles()
	if err != nil {
		return err
	}
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(b))}); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), z.Close())
}

// sourceFiles returns the files, relative to the root of the repository.
func sourceFiles() ([]string, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dirs := map[string]bool{}
	for _, goos := range []string{"linux", "darwin"} { // which import other packages
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} {{$.Dir}}{{end}}", ".")
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = append(os.Environ(), "GOOS="+goos)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		for line := range strings.Lines(string(out)) {
			module, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
			if module != repository && module != repository+"/"+dir {
				continue
			}
			rel, err := filepath.Rel(root, folder)
			if err != nil {
				return nil, err
			}
			dirs[rel] = true
		}
	}
	files := []string{"go.mod"}
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		all, err := filepath.Glob(filepath.Join(d, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range all {
			if !strings.HasSuffix(name, "_test.go") {
				files = append(files, name)
			}
		}
	}
	for _, pattern := range []string{"*.mod", "*.sum"} {
		all, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, all...)
	}
	return files, nil
}
