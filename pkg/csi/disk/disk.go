package disk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk is a disk as a node sees it. It holds no state but its directory; its methods may be called from several
// goroutines, those that change something by one node at a time.
type Disk struct{ dir string }

// FileSystem is what a disk was formatted with.
type FileSystem struct {
	Type string `json:"type"` // "ext4"
	// Bytes is its size, which is the disk's until that is made larger.
	Bytes int64 `json:"bytes"`
}

// ErrFormatted is returned for a disk that has another file system than the one asked for.
var ErrFormatted = errors.New("has another file system")

// Open returns the disk in a directory. Error: fs.ErrNotExist.
func Open(dir string) (*Disk, error) {
	if _, err := Size(dir); err != nil {
		return nil, err
	}
	return &Disk{dir: dir}, nil
}

// Dir returns its directory.
func (d *Disk) Dir() string { return d.dir }

// Data returns the directory with the file system's content.
func (d *Disk) Data() string { return filepath.Join(d.dir, dataDir) }

// Size returns its size now, bytes.
func (d *Disk) Size() (int64, error) { return Size(d.dir) }

// FileSystem tells what it is formatted with; false when it is not.
func (d *Disk) FileSystem() (FileSystem, bool, error) {
	var f FileSystem
	b, err := os.ReadFile(filepath.Join(d.dir, fsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return f, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return f, false, fmt.Errorf("file system of disk %s: %w", d.dir, err)
	}
	return f, true, nil
}

// Format gives a disk that has none a file system as large as it is. One that has it already keeps it with its content.
// Error: ErrFormatted.
func (d *Disk) Format(fsType string) (FileSystem, error) {
	f, is, err := d.FileSystem()
	switch {
	case err != nil:
		return f, err
	case is && f.Type != fsType:
		return f, fmt.Errorf("disk %s: %w: %s, not %s", d.dir, ErrFormatted, f.Type, fsType)
	case is:
		return f, nil
	}
	return d.writeFileSystem(fsType)
}

// Grow makes the file system as large as the disk has become.
func (d *Disk) Grow() (FileSystem, error) {
	f, is, err := d.FileSystem()
	if err != nil {
		return f, err
	}
	if !is {
		return f, fmt.Errorf("disk %s: has no file system", d.dir)
	}
	if size, err := d.Size(); err != nil || size == f.Bytes {
		return f, err
	}
	return d.writeFileSystem(f.Type)
}

func (d *Disk) writeFileSystem(fsType string) (FileSystem, error) {
	size, err := d.Size()
	if err != nil {
		return FileSystem{}, err
	}
	f := FileSystem{Type: fsType, Bytes: size}
	return f, writeJSON(filepath.Join(d.dir, fsFile), f)
}

// Block returns the file that stands for the raw disk, made when it is not there, and as large as the disk is now.
func (d *Disk) Block() (string, error) {
	size, err := d.Size()
	if err != nil {
		return "", err
	}
	path := filepath.Join(d.dir, blockFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	info, err := f.Stat()
	if err == nil && info.Size() < size {
		err = f.Truncate(size)
	}
	return path, errors.Join(err, f.Close())
}
