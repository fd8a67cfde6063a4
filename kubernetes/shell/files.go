package shell

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// fileBytes is the largest size of a file outside of a [Mount.Bounded] one, and writtenBytes the most that programs of one
	// container write in all. Zeros at the end of a file are holes, which do not count.
	fileBytes    = 64 << 20
	writtenBytes = 1 << 30
	// links is the most symbolic links in a path.
	links = 40
)

// Mount is a folder or file of the host at a path of the container.
type Mount struct {
	// Path is clean and absolute.
	Path string
	// Base is the folder of the host that is never left; Sub is the path below it. Base may be a symbolic link.
	Base, Sub string
	ReadOnly  bool
	// Make makes Base when it is first needed. May be nil.
	Make func() error
	// Usage returns how full the file system is, in bytes, and its device. Nil: df leaves it out.
	Usage func() (device string, total, used int64, err error)
	// Bounded makes writes fail with ENOSPC where Usage would exceed its total.
	Bounded bool

	space *space // of a Bounded mount
}

// FS is the files of a container. It is safe for concurrent use.
type FS struct {
	mounts  []Mount // the longest path first
	written atomic.Int64
}

// NewFS returns the files of a container; one mount is that of "/". Of two at one path, the last counts.
func NewFS(mounts []Mount) *FS {
	f := &FS{}
	for _, m := range slices.Backward(mounts) {
		if !slices.ContainsFunc(f.mounts, func(other Mount) bool { return other.Path == m.Path }) {
			if m.Bounded {
				m.space = &space{usage: m.Usage}
			}
			f.mounts = append(f.mounts, m)
		}
	}
	slices.SortStableFunc(f.mounts, func(a, b Mount) int { return len(b.Path) - len(a.Path) })
	return f
}

// place is where a path of the container is: a name below the base of a mount.
type place struct {
	mount *Mount
	name  string
	path  string // in the container, without symbolic links
}

// at returns the place of a clean absolute path, whose symbolic links are not followed.
func (f *FS) at(p string) place {
	for i := range f.mounts {
		m := &f.mounts[i]
		if rest, ok := below(p, m.Path); ok {
			return place{m, path.Join(".", m.Sub, rest), p}
		}
	}
	return place{&Mount{Path: "/", ReadOnly: true, Base: "/nonexistent"}, ".", p}
}

// below returns p relative to dir, and whether it is dir or below it.
func below(p, dir string) (string, bool) {
	if p == dir {
		return "", true
	}
	if dir == "/" {
		return p[1:], true
	}
	return strings.CutPrefix(p, dir+"/")
}

// top reports whether the place is a mount itself.
func (p place) top() bool { return p.path == p.mount.Path }

// open opens the mount's base. A volume whose disk is gone is an input/output error.
func (p place) open() (*os.Root, error) {
	if p.mount.Make != nil {
		if err := p.mount.Make(); err != nil {
			return nil, syscall.EIO
		}
	}
	root, err := os.OpenRoot(p.mount.Base)
	if err != nil {
		return nil, syscall.EIO
	}
	return root, nil
}

// do calls one operation on a place.
func (p place) do(op func(root *os.Root, name string) error) error {
	root, err := p.open()
	if err != nil {
		return err
	}
	defer root.Close()
	return op(root, p.name)
}

func (p place) lstat() (info fs.FileInfo, err error) {
	err = p.do(func(root *os.Root, name string) error {
		info, err = root.Lstat(name)
		return err
	})
	return info, err
}

// resolve returns the place of a path, which is relative to dir. Symbolic links are followed as in the container, where an absolute
// one starts at the container's root; the last one only if follow is set. What a link names may be missing.
func (f *FS) resolve(dir, name string, follow bool) (place, error) {
	if strings.Contains(name, "\x00") {
		return place{}, syscall.EINVAL
	}
	if name == "" {
		return place{}, syscall.ENOENT
	}
	rest := strings.Split(name, "/")
	current := "/"
	if !strings.HasPrefix(name, "/") {
		current = path.Clean("/" + dir)
	}
	for followed := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			current = path.Dir(current)
			continue
		}
		next := path.Join(current, part)
		p := f.at(next)
		if p.top() || !follow && !slices.ContainsFunc(rest, func(s string) bool { return s != "" && s != "." }) {
			current = next
			continue
		}
		info, err := p.lstat()
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			if err == nil && !info.IsDir() && len(rest) > 0 {
				return place{}, syscall.ENOTDIR
			}
			current = next
			continue
		}
		if followed++; followed > links {
			return place{}, syscall.ELOOP
		}
		var target string
		if err := p.do(func(root *os.Root, name string) error {
			target, err = root.Readlink(name)
			return err
		}); err != nil {
			return place{}, err
		}
		if strings.HasPrefix(target, "/") {
			current = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return f.at(current), nil
}

// Stat returns what is at a path.
func (f *FS) Stat(dir, name string, follow bool) (fs.FileInfo, error) {
	p, err := f.resolve(dir, name, follow)
	if err != nil {
		return nil, pathError("stat", name, err)
	}
	info, err := p.lstat()
	return info, pathError("stat", name, err)
}

// Device returns the file of a device; ok is false for a path that is none.
func device(p string) (dev io.ReadWriteCloser, ok bool) {
	switch p {
	case "/dev/null":
		return null{}, true
	case "/dev/zero":
		return zero{}, true
	case "/dev/random", "/dev/urandom":
		return random{}, true
	case "/dev/full":
		return full{}, true
	}
	return nil, false
}

// Open opens a file as os.OpenFile does.
func (f *FS) Open(dir, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	p, err := f.resolve(dir, name, true)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	if dev, ok := device(p.path); ok {
		return dev, nil
	}
	writes := flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0
	if writes && p.mount.ReadOnly {
		return nil, pathError("open", name, syscall.EROFS)
	}
	// A FIFO would block, and devices of the host are not the container's.
	if info, err := p.lstat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, pathError("open", name, syscall.EPERM)
	} else if err == nil && writes && info.IsDir() {
		return nil, pathError("open", name, syscall.EISDIR)
	}
	var opened *os.File
	if err := p.do(func(root *os.Root, name string) error {
		opened, err = root.OpenFile(name, flag|syscall.O_NONBLOCK, perm)
		return err
	}); err != nil {
		return nil, pathError("open", name, err)
	}
	return &file{file: opened, fs: f, space: p.mount.space, append: flag&os.O_APPEND != 0}, nil
}

// ReadDir returns what is in a folder, sorted by name, with its mounts.
func (f *FS) ReadDir(dir, name string) ([]fs.DirEntry, error) {
	p, err := f.resolve(dir, name, true)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	var entries []fs.DirEntry
	err = p.do(func(root *os.Root, name string) error {
		if info, err := root.Stat(name); err != nil {
			return err
		} else if !info.IsDir() {
			return syscall.ENOTDIR
		}
		entries, err = fs.ReadDir(root.FS(), name)
		return err
	})
	if err != nil {
		return nil, pathError("open", name, err)
	}
	for i, e := range entries {
		if at := f.at(path.Join(p.path, e.Name())); at.top() {
			if info, err := at.lstat(); err == nil {
				entries[i] = fs.FileInfoToDirEntry(renamed{info, e.Name()})
			}
		}
	}
	return entries, nil
}

// renamed is what is mounted at a name.
type renamed struct {
	fs.FileInfo
	name string
}

// Name implements fs.FileInfo.
func (r renamed) Name() string { return r.name }

// change does one operation that writes to a place; a mount itself cannot be changed.
func (f *FS) change(op, dir, name string, do func(root *os.Root, name string) error) error {
	p, err := f.resolve(dir, name, false)
	if err == nil {
		switch {
		case p.mount.ReadOnly:
			err = syscall.EROFS
		case p.top():
			err = syscall.EBUSY
		default:
			err = p.do(do)
		}
	}
	return pathError(op, name, err)
}

// Mkdir makes a folder.
func (f *FS) Mkdir(dir, name string, perm fs.FileMode) error {
	return f.change("mkdir", dir, name, func(root *os.Root, name string) error { return root.Mkdir(name, perm) })
}

// Remove removes a file, or an empty folder.
func (f *FS) Remove(dir, name string) error {
	return f.change("remove", dir, name, func(root *os.Root, name string) error { return root.Remove(name) })
}

// RemoveAll removes all that is there.
func (f *FS) RemoveAll(dir, name string) error {
	return f.change("remove", dir, name, func(root *os.Root, name string) error { return root.RemoveAll(name) })
}

// Symlink makes a symbolic link.
func (f *FS) Symlink(target, dir, name string) error {
	return f.change("symlink", dir, name, func(root *os.Root, name string) error { return root.Symlink(target, name) })
}

// Readlink returns what a symbolic link names.
func (f *FS) Readlink(dir, name string) (target string, err error) {
	p, err := f.resolve(dir, name, false)
	if err == nil {
		err = p.do(func(root *os.Root, name string) error {
			target, err = root.Readlink(name)
			return err
		})
	}
	return target, pathError("readlink", name, err)
}

// errOtherMount is what rename(2) reports between file systems.
var errOtherMount = syscall.EXDEV

// Rename renames a file within a mount; between two it fails with EXDEV.
func (f *FS) Rename(dir, from, to string) error {
	target, err := f.resolve(dir, to, false)
	if err != nil {
		return pathError("rename", to, err)
	}
	return f.change("rename", dir, from, func(root *os.Root, name string) error {
		source, err := f.resolve(dir, from, false)
		switch {
		case err != nil:
			return err
		case source.mount != target.mount:
			return errOtherMount
		case target.top():
			return syscall.EBUSY
		}
		return root.Rename(name, target.name)
	})
}

// Link makes a hard link within a mount.
func (f *FS) Link(dir, from, to string) error {
	source, err := f.resolve(dir, from, true)
	if err != nil {
		return pathError("link", from, err)
	}
	return f.change("link", dir, to, func(root *os.Root, name string) error {
		if target, err := f.resolve(dir, to, false); err != nil || target.mount != source.mount {
			return errOtherMount
		}
		return root.Link(source.name, name)
	})
}

// Chmod changes the mode of what a path leads to. The owner keeps the right to read and write: the kubelet is that user.
func (f *FS) Chmod(dir, name string, mode func(old fs.FileMode) fs.FileMode) error {
	p, err := f.resolve(dir, name, true)
	if err == nil && p.mount.ReadOnly {
		err = syscall.EROFS
	}
	if err == nil {
		err = p.do(func(root *os.Root, name string) error {
			info, err := root.Lstat(name)
			if err != nil {
				return err
			}
			keep := fs.FileMode(0o600)
			if info.IsDir() {
				keep = 0o700
			}
			return root.Chmod(name, mode(info.Mode())&fs.ModePerm|keep)
		})
	}
	return pathError("chmod", name, err)
}

// Touch sets the times of a file.
func (f *FS) Touch(dir, name string, at time.Time) error {
	p, err := f.resolve(dir, name, true)
	if err == nil && p.mount.ReadOnly {
		err = syscall.EROFS
	}
	if err == nil {
		err = p.do(func(root *os.Root, name string) error { return root.Chtimes(name, at, at) })
	}
	return pathError("touch", name, err)
}

// pathError returns an error that names the path of the container, never one of the host; nil for nil.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: reason(err)}
}

// reason returns the error number.
func reason(err error) error {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	case errors.Is(err, fs.ErrExist):
		return syscall.EEXIST
	case errors.Is(err, fs.ErrPermission):
		return syscall.EACCES
	}
	return syscall.EACCES // such as os.Root's "path escapes from parent"
}
