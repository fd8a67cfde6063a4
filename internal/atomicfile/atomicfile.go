package atomicfile

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// WriteFile replaces the file at path. The mode is that of os.WriteFile, for the new file; a link at path is replaced, and
// what it leads to stays as it is.
func WriteFile(path string, data []byte, mode fs.FileMode) error {
	f, err := Create(path, mode)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// File is a file under a hidden name in the directory of its path, until it is committed.
type File struct {
	*os.File
	path string
}

// Create makes an empty file that Commit puts at path. The caller defers Discard.
func Create(path string, mode fs.FileMode) (*File, error) {
	dir, base := filepath.Split(path)
	for {
		f, err := os.OpenFile(dir+"."+base+"."+strconv.FormatUint(rand.Uint64(), 36), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "write", Path: path, Err: cause(err)}
		}
		return &File{f, path}, nil
	}
}

// Commit closes the file and puts it at its path. What was there is replaced. After an error nothing is left of it.
func (f *File) Commit() error {
	err := f.Close()
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	return f.failed(err)
}

// CommitNew closes the file and puts it at its path. It returns an fs.ErrExist where there is one already; only on a file
// system without hard links, one that appears at the last moment is replaced.
func (f *File) CommitNew() error {
	err := f.Close()
	if err == nil {
		err = os.Link(f.Name(), f.path)
	}
	if err == nil {
		return f.failed(os.Remove(f.Name()))
	}
	if _, there := os.Lstat(f.path); there == nil {
		return f.failed(fs.ErrExist)
	}
	return f.failed(os.Rename(f.Name(), f.path))
}

// failed removes the file after an error, which it returns with the path instead of the hidden name.
func (f *File) failed(err error) error {
	if err == nil {
		return nil
	}
	_ = os.Remove(f.Name())
	return &fs.PathError{Op: "write", Path: f.path, Err: cause(err)}
}

// cause is the reason of an error of package os, without the paths.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// Discard closes and removes the file; one that is committed stays.
func (f *File) Discard() {
	_ = f.Close()           // closed already when it was committed
	_ = os.Remove(f.Name()) // gone already when it was committed
}
