package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// Disk is a disk as a node sees it. It has no state except its directory. Its methods are safe for concurrent use, except
// that only one node may call the modifying ones at a time.
type Disk struct{ dir string }

// FileSystem is the file system of a formatted disk.
type FileSystem struct {
	Type string `json:"type"` // "ext4"
	// Bytes is its size: the size of the disk at the time of the last Format or Grow.
	Bytes int64 `json:"bytes"`
}

// ErrFormatted reports that a disk has another file system than the requested one.
var ErrFormatted = errors.New("has another file system")

// Open returns the disk in a directory. Error: fs.ErrNotExist.
func Open(dir string) (*Disk, error) {
	if _, err := Size(dir); err != nil {
		return nil, err
	}
	return &Disk{dir: dir}, nil
}

// Dir returns the disk's directory.
func (d *Disk) Dir() string { return d.dir }

// Data returns the directory with the content of the file system.
func (d *Disk) Data() string { return filepath.Join(d.dir, dataDir) }

// Size returns the disk's current size in bytes.
func (d *Disk) Size() (int64, error) { return Size(d.dir) }

// FileSystem returns the disk's file system; false if it is not formatted.
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

// Format creates a file system as large as the disk, unless the disk has one of this type already. Error: ErrFormatted.
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

// Grow grows the file system to the size of the disk.
func (d *Disk) Grow() (FileSystem, error) {
	f, is, err := d.FileSystem()
	if err != nil {
		return f, err
	}
	if !is {
		return f, fmt.Errorf("disk %s: no file system", d.dir)
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

// Block returns the file for raw access to the disk. It creates or grows the file if needed.
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

// extent returns the first range of data of a file from offset at; from is size if there is no more. On a file system without
// holes, everything is data.
func extent(f *os.File, at, size int64) (from, to int64, err error) {
	from, err = f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOTSUP):
		return at, size, nil
	case err != nil:
		return 0, 0, err
	}
	to, err = f.Seek(from, unix.SEEK_HOLE)
	if err != nil {
		return 0, 0, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return from, min(to, size), err
}

// Usage is the space that the content of a file system uses.
type Usage struct {
	Bytes int64 // size of its files
	Files int64 // files, directories and symlinks
}

// Usage measures the content. It skips what disappears or is not readable. Error: ctx's.
func (d *Disk) Usage(ctx context.Context) (Usage, error) {
	var u Usage
	err := filepath.WalkDir(d.Data(), func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		u.Files++
		if e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				u.Bytes += info.Size()
			}
		}
		return nil
	})
	return u, err
}

// writeJSON replaces a file atomically.
func writeJSON(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, append(b, '\n'), 0o600)
}

// RemoveAll is os.RemoveAll that also removes directories without write permission, as a container may leave them.
func RemoveAll(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // RemoveAll returns the error
		}
		return nil
	})
	return os.RemoveAll(dir)
}

const (
	recordFile = "disk.json"
	fsFile     = "fs.json"
	dataDir    = "data"
	blockFile  = "block"
)

type record struct {
	Bytes int64 `json:"bytes"`
}

// Create creates an empty disk of the given size in dir, with its parent directories. Error: fs.ErrExist if dir exists. Calls
// for the same dir must not run concurrently.
func Create(dir string, bytes int64) error {
	if err := checkSize(bytes); err != nil {
		return fmt.Errorf("disk %s: %w", dir, err)
	}
	return build(dir, func(at string) error { return writeRecord(at, bytes) })
}

// Size returns a disk's size in bytes. Error: fs.ErrNotExist.
func Size(dir string) (int64, error) {
	b, err := os.ReadFile(filepath.Join(dir, recordFile))
	if err != nil {
		return 0, fmt.Errorf("disk: %w", err)
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return 0, fmt.Errorf("disk %s: %w", dir, err)
	}
	return r.Bytes, nil
}

// Resize grows a disk, which its node notices at the next call. A disk that is large enough stays as it is; a disk never
// shrinks. Error: fs.ErrNotExist. Calls for the same dir must not run concurrently.
func Resize(dir string, bytes int64) error {
	is, err := Size(dir)
	if err != nil || bytes <= is {
		return err
	}
	return writeRecord(dir, bytes)
}

// Remove deletes a disk with its content, if it exists. Calls for the same dir must not run concurrently.
func Remove(dir string) error {
	gone := dir + ".gone"
	err := errors.Join(RemoveAll(gone), RemoveAll(dir+".new"))
	if err != nil {
		return err
	}
	// A partly removed directory must not look like a disk.
	switch err := os.Rename(dir, gone); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return RemoveAll(gone)
}

// build creates a disk next to dir, calls fill, and renames it to dir.
func build(dir string, fill func(at string) error) error {
	at := dir + ".new"
	if err := RemoveAll(at); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(at, dataDir), 0o700); err != nil {
		return err
	}
	err := fill(at)
	if err == nil {
		err = os.Rename(at, dir) // never replaces a directory with content
	}
	if err != nil {
		return errors.Join(err, RemoveAll(at))
	}
	return nil
}

func writeRecord(dir string, bytes int64) error {
	return writeJSON(filepath.Join(dir, recordFile), record{Bytes: bytes})
}

func checkSize(bytes int64) error {
	if bytes <= 0 {
		return fmt.Errorf("%d bytes: not a valid size", bytes)
	}
	return nil
}

// Copy creates a disk at to with the size, the file system and the content of the one at from: a snapshot, or a disk
// restored from one. It copies files that change while it runs in whichever state it reads them. It omits sockets, pipes and
// device files, and keeps owners if this process may change them, as root may. Errors: fs.ErrNotExist, fs.ErrExist, ctx's.
// Calls for the same to must not run concurrently.
func Copy(ctx context.Context, from, to string) error {
	bytes, err := Size(from)
	if err != nil {
		return err
	}
	return build(to, func(at string) error {
		b, err := os.ReadFile(filepath.Join(from, fsFile))
		switch {
		case err == nil:
			err = os.WriteFile(filepath.Join(at, fsFile), b, 0o600)
		case errors.Is(err, fs.ErrNotExist): // not formatted
			err = nil
		}
		if err != nil {
			return err
		}
		for _, name := range []string{dataDir, blockFile} {
			if err := CopyTree(ctx, filepath.Join(from, name), filepath.Join(at, name)); err != nil {
				return fmt.Errorf("copy of disk %s: %w", from, err)
			}
		}
		return writeRecord(at, bytes)
	})
}

// CopyTree copies a file or a directory recursively, with modes, times, owners and holes, as [Copy] does. The parent of to must exist. It
// skips files that do not exist or disappear, and sockets, pipes and device files.
func CopyTree(ctx context.Context, from, to string) error {
	type done struct {
		path string
		info fs.FileInfo
	}
	var dirs []done
	err := filepath.WalkDir(from, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil {
			target := filepath.Join(to, rel)
			if info.IsDir() {
				dirs = append(dirs, done{target, info})
			}
			err = copyOne(ctx, path, target, info)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	// Innermost first: a directory may be read-only, and its time changes with its content.
	for _, d := range slices.Backward(dirs) {
		if err := errors.Join(keepOwner(d.path, d.info), os.Chmod(d.path, d.info.Mode()&modeBits), os.Chtimes(d.path, d.info.ModTime(), d.info.ModTime())); err != nil {
			return err
		}
	}
	return nil
}

// keepOwner sets the owner of the original, because a program in a container may refuse to start with files of another
// owner. It must be called before the mode is set, because a change of owner clears bits of it.
func keepOwner(path string, info fs.FileInfo) error {
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	if err := os.Lchown(path, int(of.Uid), int(of.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err // root in a container may not be permitted to
	}
	return nil
}

// modeBits are the bits that os.Chmod sets.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func copyOne(ctx context.Context, from, to string, info fs.FileInfo) error {
	switch info.Mode().Type() {
	case fs.ModeDir:
		if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	case fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		if err := os.Symlink(target, to); err != nil {
			return err
		}
		return keepOwner(to, info)
	case 0:
		return copyFile(ctx, from, to, info)
	default:
		return nil
	}
}

func copyFile(ctx context.Context, from, to string, info fs.FileInfo) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = copyData(ctx, src, dst)
	err = errors.Join(err, dst.Close(), keepOwner(to, info), os.Chmod(to, info.Mode()&modeBits))
	return errors.Join(err, os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// copyData copies a file's data and keeps its holes: a raw disk is mostly holes.
func copyData(ctx context.Context, src, dst *os.File) error {
	info, err := src.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if err := dst.Truncate(size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		from, to, err := extent(src, at, size)
		if err != nil {
			return err
		}
		if from >= size {
			return nil
		}
		for from < to {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(to-from, 64<<20)
			copied, err := io.Copy(io.NewOffsetWriter(dst, from), io.NewSectionReader(src, from, n))
			if err != nil {
				return err
			}
			if copied < n { // it was truncated
				return nil
			}
			from += n
		}
		at = to
	}
	return nil
}
