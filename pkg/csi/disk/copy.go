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

// Copy makes a disk at to that has the size, the file system and the content of the one at from: a snapshot, or a disk
// restored from one. What is being written while it runs is copied as it is met. Sockets, pipes and device files are
// left out. Owners are kept where this process may give files away, which is for root. Errors: fs.ErrNotExist, fs.ErrExist, ctx's. One at a time for a directory to.
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
		case errors.Is(err, fs.ErrNotExist): // it is not formatted
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

// copyTree copies a file or a directory with all in it. What is not there, or goes away meanwhile, is no error.
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
	// Innermost first: a directory may be read-only, and changes with what is put in it.
	for _, d := range slices.Backward(dirs) {
		if err := errors.Join(keepOwner(d.path, d.info), os.Chmod(d.path, d.info.Mode()&modeBits), os.Chtimes(d.path, d.info.ModTime(), d.info.ModTime())); err != nil {
			return err
		}
	}
	return nil
}

// keepOwner gives what was copied to whose the original is: a program in a container that finds its files to be another's may
// refuse to start. It comes before the mode, from which a change of owner takes bits.
func keepOwner(path string, info fs.FileInfo) error {
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok || os.Geteuid() != 0 {
		return nil
	}
	if err := os.Lchown(path, int(of.Uid), int(of.Gid)); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err // root of a container may have been denied that
	}
	return nil
}

// modeBits is what os.Chmod takes.
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

// copyData copies what a file has and leaves its holes holes: a raw disk is nearly all hole.
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
			if copied < n { // it was cut short meanwhile
				return nil
			}
			from += n
		}
		at = to
	}
	return nil
}
