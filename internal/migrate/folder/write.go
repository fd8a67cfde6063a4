package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Occupied is the error for a folder that holds something already.
type Occupied struct {
	Dir   string
	Names []string // what it holds, in order
}

// Error names the folder and the first of what is in it.
func (e *Occupied) Error() string {
	return fmt.Sprintf("folder %s is not empty: it holds %s", e.Dir, shorten.List(e.Names, 3))
}

// Write creates the folder, in an existing parent, and the files in it. An existing folder must be empty, unless replace is set:
// then Write replaces files of the same names and keeps others. On an error nothing has changed; it is of type [*Occupied] if the
// folder is not empty.
func Write(dir string, files []migrate.File, replace bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return plain(dir, create(dir, files))
	case err != nil:
		return plain(dir, err)
	case len(entries) > 0 && !replace:
		e := &Occupied{Dir: dir}
		for _, entry := range entries {
			e.Names = append(e.Names, entry.Name())
		}
		return e
	}
	return plain(dir, update(dir, files))
}

// create creates the folder under a temporary name first, readable by its owner alone, as it holds credentials.
func create(dir string, files []migrate.File) error {
	staged, err := stage(filepath.Dir(dir), files)
	if err != nil {
		return err
	}
	if err := os.Rename(staged, dir); err != nil {
		return errors.Join(err, os.RemoveAll(staged))
	}
	return nil
}

// stage writes the files into a temporary folder.
func stage(parent string, files []migrate.File) (dir string, err error) {
	if dir, err = os.MkdirTemp(parent, ".unfinished-"); err != nil {
		return "", err
	}
	for _, f := range files {
		mode := fs.FileMode(0o644)
		if f.Secret {
			mode = 0o600
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, mode); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, nil
}

// update puts the files into an existing folder, which keeps its inode: it may be a shell's working directory. It keeps the
// replaced files until all are in place.
func update(dir string, files []migrate.File) error {
	staged, err := stage(dir, files)
	if err != nil {
		return err
	}
	for i, f := range files {
		if err = exchange(dir, staged, f.Name); err != nil {
			for _, done := range files[:i] {
				err = errors.Join(err, restore(dir, staged, done.Name))
			}
			break
		}
	}
	return errors.Join(err, os.RemoveAll(staged))
}

func kept(staged, name string) string { return filepath.Join(staged, ".was-"+name) }

// exchange puts one file in its place, and moves the old one aside.
func exchange(dir, staged, name string) error {
	path := filepath.Join(dir, name)
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", name)
		}
		if err := os.Rename(path, kept(staged, name)); err != nil {
			return err
		}
	}
	err := os.Rename(filepath.Join(staged, name), path)
	if err != nil {
		return errors.Join(err, restore(dir, staged, name))
	}
	return nil
}

// restore undoes exchange.
func restore(dir, staged, name string) error {
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Lstat(kept(staged, name)); err != nil {
		return nil // there was none
	}
	return os.Rename(kept(staged, name), path)
}

// plain replaces the temporary path in err by the folder's.
func plain(dir string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("folder %s: %w", dir, err)
}
