package shell

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// tarTool packs and unpacks: kubectl cp calls it.
func tarTool(ctx context.Context, pr *process, args []string) int {
	if len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		args = slices.Concat([]string{args[0], "-" + args[1]}, args[2:])
	}
	set, operands, ok := pr.options(args, "cxtvmpoPh", "fC", map[string]byte{"create": 'c', "extract": 'x', "file": 'f', "directory": 'C', "no-same-permissions": 'o', "no-same-owner": 'o'})
	if !ok {
		return exitUsage
	}
	inner := *pr
	if dir, ok := set['C']; ok {
		place, err := pr.p.Files.resolve(pr.dir, dir, true)
		if err != nil || !pr.isDir(dir) {
			return pr.fail("tar", pathError("open", dir, errors.Join(err, fs.ErrNotExist)))
		}
		inner.dir = place.path
	}
	var err error
	switch name := set['f']; {
	case has(set, 'c'):
		out := inner.stdout
		if name != "" && name != "-" {
			f, openErr := pr.create(name, false)
			if openErr != nil {
				return pr.fail("tar", openErr)
			}
			defer f.Close()
			out = f
		}
		err = inner.pack(ctx, out, operands)
	case has(set, 'x'), has(set, 't'):
		in := orEmpty(inner.stdin)
		if name != "" && name != "-" {
			f, openErr := pr.open(name)
			if openErr != nil {
				return pr.fail("tar", openErr)
			}
			defer f.Close()
			in = f
		}
		err = inner.unpack(ctx, in, has(set, 't'))
	default:
		err = errors.New("one of -c, -x and -t is missing")
	}
	if err != nil {
		return pr.fail("tar", err)
	}
	return 0
}

func (pr *process) pack(ctx context.Context, out io.Writer, names []string) error {
	w := tar.NewWriter(out)
	for _, root := range names {
		err := pr.walk(ctx, root, 0, func(name string, info fs.FileInfo, _ int) error {
			link := ""
			if info.Mode()&fs.ModeSymlink != 0 {
				link, _ = pr.p.Files.Readlink(pr.dir, name)
			} else if !info.IsDir() && !info.Mode().IsRegular() {
				return nil
			}
			h, err := tar.FileInfoHeader(info, link)
			if err != nil {
				return err
			}
			h.Name = strings.TrimPrefix(name, "/")
			h.Uid, h.Gid, h.Uname, h.Gname = int(pr.p.UID), int(pr.p.GID), "", ""
			if info.IsDir() {
				h.Name += "/"
			}
			if err := w.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
				return err
			}
			f, err := pr.open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			err = copyAll(ctx, w, io.LimitReader(f, h.Size))
			return err
		})
		if err != nil {
			return err
		}
	}
	return w.Close()
}

func (pr *process) unpack(ctx context.Context, in io.Reader, list bool) error {
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := moved(ctx, 0); err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if list {
			fmt.Fprintln(pr.stdout, h.Name)
			continue
		}
		if name == "" {
			continue
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = pr.mkdirAll(name)
		case tar.TypeSymlink:
			_ = pr.p.Files.Remove(pr.dir, name)
			err = pr.p.Files.Symlink(h.Linkname, pr.dir, name)
		case tar.TypeReg:
			if dir := path.Dir(name); dir != "." {
				if err := pr.mkdirAll(dir); err != nil {
					return err
				}
			}
			err = pr.unpackFile(ctx, r, name, h.FileInfo().Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
}

func (pr *process) unpackFile(ctx context.Context, r io.Reader, name string, mode fs.FileMode) error {
	f, err := pr.p.Files.Open(pr.dir, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|0o600)
	if err != nil {
		return err
	}
	err = copyAll(ctx, f, r)
	return errors.Join(named(name, err), f.Close())
}
