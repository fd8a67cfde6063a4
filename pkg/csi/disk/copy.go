package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

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
			if err := copyTree(ctx, filepath.Join(from, name), filepath.Join(at, name)); err != nil {
				return fmt.Errorf("copy of disk %s: %w", from, err)
			}
		}
		return writeRecord(at, bytes)
	})
}

// copyTree copies a file or a directory recursively. It skips files that do not exist or disappear.
func copyTree(ctx context.Context, from, to string) error {
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
