package store

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// folder is a folder that is read. Nothing outside of it can be reached through it.
type folder struct {
	dir  string
	root *os.Root

	mu       sync.Mutex
	problems []Problem
}

// largest is how large a file may be. What a vCenter tells of its largest objects is a few MB.
const largest = 64 << 20

func open(dir string) (*folder, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s %w", dir, errNotDir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &folder{dir: dir, root: root}, nil
}

func (f *folder) close() { _ = f.root.Close() } // it was only read

func (f *folder) add(p Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.problems = append(f.problems, p)
}

// failed tells the problems so far, by file.
func (f *folder) failed() error {
	if len(f.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(f.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return &Error{Dir: f.dir, Problems: f.problems}
}

// list lists the names in a folder, in order; none when it is not there.
func (f *folder) list(name string) []fs.DirEntry {
	info, err := f.root.Lstat(name)
	if isMissing(err) {
		return nil
	}
	if err == nil && !info.IsDir() {
		f.add(Problem{File: name, What: "is no folder", Try: tryCopy})
		return nil
	}
	entries, err := fs.ReadDir(f.root.FS(), name)
	if err != nil {
		f.add(Problem{File: name, What: reason(err), Try: tryCopy})
	}
	return entries
}

// optional reads a file that may be missing.
func (f *folder) optional(name string) ([]byte, bool) {
	if _, err := f.root.Lstat(name); isMissing(err) {
		return nil, false
	}
	return f.read(name)
}

// read reads a file that must be there.
func (f *folder) read(name string) ([]byte, bool) {
	info, err := f.root.Lstat(name)
	switch {
	case err != nil:
		f.add(Problem{File: name, What: reason(err), Try: tryAgain})
		return nil, false
	case info.Mode()&fs.ModeSymlink != 0:
		f.add(Problem{File: name, What: "is a link; what it leads to may be anything", Try: tryCopy})
		return nil, false
	case !info.Mode().IsRegular():
		f.add(Problem{File: name, What: "is no file", Try: tryCopy})
		return nil, false
	case info.Size() > largest:
		f.add(Problem{File: name, What: fmt.Sprintf("has %d MB; no saved object has more than %d", info.Size()>>20, largest>>20), Try: tryAgain})
		return nil, false
	}
	file, err := f.root.Open(name)
	if err != nil {
		f.add(Problem{File: name, What: reason(err), Try: tryCopy})
		return nil, false
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, largest))
	if err != nil {
		f.add(Problem{File: name, What: reason(err), Try: tryCopy})
		return nil, false
	}
	return data, true
}

// verify compares the files of a manifest with their sums.
func (f *folder) verify(manifest []byte, files map[string]string) {
	for name, want := range files {
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			f.add(Problem{File: manifestName, Line: lineOf(manifest, name), What: fmt.Sprintf("file %q is outside of the folder", name), Try: tryAgain})
			continue
		}
		data, ok := f.read(name)
		if !ok {
			continue
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			f.add(Problem{File: name, What: "is not as it was saved: its checksum differs", Try: tryAgain + "\n" + tryEdited})
		}
	}
}

// reason is an error without the path, which is told anyway.
func reason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

// baseName is the last part of a path.
func baseName(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return path.Base(filepath.ToSlash(dir))
}
