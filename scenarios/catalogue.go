package scenarios

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Entry is a scenario of the catalogue: a file of kind Scenario. Package scenario reads it.
type Entry struct {
	// Name is the file's name without .yaml, and the scenario's. No two have the same.
	Name string
	// Theme is the folder that it is in: lifecycle, zones.
	Theme string
	// Path is its path in [FS].
	Path string
}

// Catalogue lists the scenarios by theme, and within each by name.
func Catalogue() []Entry {
	found, err := fs.Glob(files, "*/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	entries := make([]Entry, 0, len(found))
	for _, file := range found {
		entries = append(entries, Entry{Name: strings.TrimSuffix(path.Base(file), ".yaml"), Theme: path.Dir(file), Path: file})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return entries
}

// Themes lists the folders of the catalogue.
func Themes() []string {
	var themes []string
	for _, e := range Catalogue() {
		if !slices.Contains(themes, e.Theme) {
			themes = append(themes, e.Theme)
		}
	}
	return themes
}

// Find finds a scenario of the catalogue by name, or by theme/name. For a name that there is not, the error wraps
// [fs.ErrNotExist].
func Find(name string) (Entry, error) {
	for _, e := range Catalogue() {
		if name == e.Name || name == e.Theme+"/"+e.Name {
			return e, nil
		}
	}
	return Entry{}, fmt.Errorf("scenario %q: %w in the catalogue", name, fs.ErrNotExist)
}

// Holds reports whether a file is, byte for byte, a scenario of the catalogue.
func Holds(file []byte) bool {
	return slices.ContainsFunc(Catalogue(), func(e Entry) bool {
		info, err := fs.Stat(files, e.Path)
		if err != nil || info.Size() != int64(len(file)) {
			return false
		}
		data, err := files.ReadFile(e.Path)
		return err == nil && bytes.Equal(data, file)
	})
}
