package topology

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// folder is where a topology's files are.
type folder struct {
	files fs.FS
	// dir is put before their names in messages.
	dir string
	// path, for a folder of the machine, is opened when a file of it is wanted, which most topologies never do.
	path string
	root *os.Root
}

// name is what people know a file of the folder as.
func (f *folder) name(file string) string {
	return filepath.Join(f.dir, filepath.FromSlash(file))
}

// read reads a file that has at most room bytes.
func (f *folder) read(name string, room int) ([]byte, error) {
	if err := f.open(); err != nil {
		return nil, err
	}
	// Asked before it is opened: opening a pipe would wait for a writer.
	switch info, err := fs.Stat(f.files, name); {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("is a directory")
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	}
	file, err := f.files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read from: closing cannot lose anything
	return input.ReadAll(file, "", int64(room))
}

// list is the names of files beside one that is not there, for hints.
func (f *folder) list(dir string) []string {
	entries, err := fs.ReadDir(f.files, dir)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

// open opens a folder of the machine in such a way that nothing outside it can be read through it.
func (f *folder) open() error {
	if f.files != nil {
		return nil
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	f.root, f.files = root, root.FS()
	return nil
}

// close lets go of what open opened.
func (f *folder) close() {
	if f.root != nil {
		_ = f.root.Close() // only read from: closing cannot lose anything
	}
}
