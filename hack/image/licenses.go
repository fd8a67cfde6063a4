package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// licensesFolder has a folder by each module's path, and "go" for the standard library.
const licensesFolder = "licenses"

// licenses are the files with the terms of everything that is linked into a program for a platform: of the Go project, of
// this module and of each other one, those of folders of linked packages too. A module without any is an error.
func licenses(ctx context.Context, o *options, p program, platform v1.Platform) ([]file, error) {
	goroot, err := command(ctx, o, platform, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	const line = "{{if .Standard}}go\t\t{{else}}{{.Module.Path}}\t{{.Module.Dir}}\t{{end}}{{.Dir}}"
	packages, err := command(ctx, o, platform, "list", "-deps", "-f", line, "./cmd/"+p.name)
	if err != nil {
		return nil, err
	}
	found, licensed := map[string]string{}, map[string]bool{} // the file by its name in the image, and modules
	looked := map[string]bool{}
	for line := range strings.SplitSeq(packages, "\n") {
		fields := strings.Split(line, "\t")
		module, root, dir := fields[0], cmp.Or(fields[1], goroot), fields[2]
		if _, known := licensed[module]; !known {
			licensed[module] = false
		}
		for ; !looked[dir]; dir = filepath.Dir(dir) { // up to the module's own folder
			looked[dir] = true
			names, err := licensesIn(dir)
			if err != nil {
				return nil, err
			}
			below, err := filepath.Rel(root, dir)
			if err != nil {
				return nil, err
			}
			if !filepath.IsLocal(below) {
				return nil, fmt.Errorf("%s: %s is outside of %s", module, dir, root)
			}
			for _, name := range names {
				found[path.Join(licensesFolder, module, filepath.ToSlash(below), name)] = filepath.Join(dir, name)
				licensed[module] = true
			}
			if dir == root {
				break
			}
		}
	}
	for _, module := range slices.Sorted(maps.Keys(licensed)) {
		if !licensed[module] {
			return nil, fmt.Errorf("%s: linked in, and has no license", module)
		}
	}
	var files []file
	for _, name := range slices.Sorted(maps.Keys(found)) {
		data, err := os.ReadFile(found[name])
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, data: data})
	}
	return files, nil
}

// licensesIn are the names of the files in a folder that say on what terms it may be used.
func licensesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		says := func(word string) bool { return strings.HasPrefix(name, word) }
		if e.Type()&fs.ModeDir == 0 && !strings.HasSuffix(name, ".GO") &&
			slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, says) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
