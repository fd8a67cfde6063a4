package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

const errIsDir = syscall.EISDIR

// create opens a file to write.
func (pr *process) create(name string, appends bool) (io.WriteCloser, error) {
	switch name {
	case "/dev/stdout":
		return nopCloser{nil, pr.stdout}, nil
	case "/dev/stderr":
		return nopCloser{nil, pr.stderr}, nil
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if appends {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	return pr.p.Files.Open(pr.dir, name, flag, 0o644)
}

// lstat and stat return what is at a path.
func (pr *process) lstat(name string) (fs.FileInfo, error) {
	return pr.p.Files.Stat(pr.dir, name, false)
}

func (pr *process) stat(name string) (fs.FileInfo, error) { return pr.p.Files.Stat(pr.dir, name, true) }

// isDir reports whether a path leads to a folder.
func (pr *process) isDir(name string) bool {
	info, err := pr.stat(name)
	return err == nil && info.IsDir()
}

// depthMax is the deepest folder that a walk goes into.
const depthMax = 64

// walk calls do with a path and all below it, a folder before what is in it.
func (pr *process) walk(ctx context.Context, name string, depth int, do func(name string, info fs.FileInfo, depth int) error) error {
	info, err := pr.lstat(name)
	if err != nil {
		return err
	}
	if err := moved(ctx, 0); err != nil {
		return err
	}
	if err := do(name, info, depth); err != nil || !info.IsDir() || depth >= depthMax {
		return err
	}
	entries, err := pr.p.Files.ReadDir(pr.dir, name)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := pr.walk(ctx, join(name, e.Name()), depth+1, do); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// join joins a path and a name as a command prints them.
func join(dir, name string) string { return strings.TrimSuffix(dir, "/") + "/" + name }

// filesBelow returns the files that are at or below paths.
func (pr *process) filesBelow(ctx context.Context, names []string) []string {
	if len(names) == 0 {
		names = []string{"."}
	}
	var all []string
	for _, name := range names {
		_ = pr.walk(ctx, name, 0, func(name string, info fs.FileInfo, _ int) error {
			if !info.IsDir() {
				all = append(all, name)
			}
			return nil
		})
	}
	return all
}

func mkdir(_ context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "pv", "m", map[string]byte{"parents": 'p', "mode": 'm'})
	if !ok {
		return 1
	}
	code := 0
	for _, name := range operands {
		if has(set, 'p') {
			if err := pr.mkdirAll(name); err != nil {
				code = pr.fail("mkdir: can't create directory", err)
			}
			continue
		}
		if err := pr.p.Files.Mkdir(pr.dir, name, 0o755); err != nil {
			code = pr.fail("mkdir: can't create directory", err)
		}
	}
	return code
}

// mkdirAll makes a folder with those above it.
func (pr *process) mkdirAll(name string) error {
	if pr.isDir(name) {
		return nil
	}
	if up := path.Dir(name); up != name && up != "." {
		if err := pr.mkdirAll(up); err != nil {
			return err
		}
	}
	err := pr.p.Files.Mkdir(pr.dir, name, 0o755)
	if errors.Is(err, fs.ErrExist) && pr.isDir(name) {
		return nil
	}
	return err
}

func rm(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "rRfvi", "", map[string]byte{"recursive": 'r', "force": 'f'})
	if !ok {
		return 1
	}
	code := 0
	for _, name := range operands {
		info, err := pr.lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && has(set, 'f'):
			continue
		case err != nil:
		case info.IsDir() && !has(set, 'r') && !has(set, 'R'):
			err = pathError("remove", name, errIsDir)
		case info.IsDir():
			err = pr.removeTree(ctx, name)
		default:
			err = pr.p.Files.Remove(pr.dir, name)
		}
		if err != nil {
			code = pr.fail("rm: can't remove", err)
		}
	}
	return code
}

// removeTree removes a folder. What is mounted below it stays, and is an error.
func (pr *process) removeTree(ctx context.Context, name string) error {
	place, err := pr.p.Files.resolve(pr.dir, name, false)
	if err != nil {
		return pathError("remove", name, err)
	}
	mounted := false
	for i := range pr.p.Files.mounts {
		if _, in := below(pr.p.Files.mounts[i].Path, place.path); in && pr.p.Files.mounts[i].Path != "/" {
			mounted = true
		}
	}
	if !mounted {
		return pr.p.Files.RemoveAll(pr.dir, name)
	}
	entries, err := pr.p.Files.ReadDir(pr.dir, name)
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		if err := moved(ctx, 0); err != nil {
			return err
		}
		at := join(name, e.Name())
		if e.IsDir() {
			all = errors.Join(all, pr.removeTree(ctx, at))
		} else {
			all = errors.Join(all, pr.p.Files.Remove(pr.dir, at))
		}
	}
	if all != nil {
		return all
	}
	return pr.p.Files.Remove(pr.dir, name)
}

func rmdir(_ context.Context, pr *process, args []string) int {
	_, operands, ok := pr.options(args, "p", "", nil)
	if !ok {
		return 1
	}
	code := 0
	for _, name := range operands {
		err := pr.p.Files.Remove(pr.dir, name)
		if err == nil {
			continue
		}
		code = pr.fail("rmdir", err)
	}
	return code
}

// target returns where a source goes: below the destination if that is a folder.
func (pr *process) target(source, destination string) string {
	if pr.isDir(destination) {
		return join(destination, path.Base(source))
	}
	return destination
}

func cp(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "rRafpLPdTv", "", map[string]byte{"recursive": 'r', "archive": 'a'})
	if !ok {
		return 1
	}
	if len(operands) < 2 {
		fmt.Fprintln(pr.stderr, "cp: a file is missing")
		return 1
	}
	destination := operands[len(operands)-1]
	deep := has(set, 'r') || has(set, 'R') || has(set, 'a')
	code := 0
	for _, source := range operands[:len(operands)-1] {
		to := destination
		if !has(set, 'T') {
			to = pr.target(source, destination)
		}
		if strings.HasSuffix(source, "/.") {
			to = destination
		}
		if err := pr.copyTree(ctx, source, to, deep, has(set, 'a') || has(set, 'P') || has(set, 'd'), 0); err != nil {
			code = pr.fail("cp", err)
		}
	}
	return code
}

// copyTree copies a file, or a folder with all in it.
func (pr *process) copyTree(ctx context.Context, from, to string, deep, keepLinks bool, depth int) error {
	if err := moved(ctx, 0); err != nil {
		return err
	}
	info, err := pr.stat(from)
	if keepLinks {
		info, err = pr.lstat(from)
	}
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		link, err := pr.p.Files.Readlink(pr.dir, from)
		if err != nil {
			return err
		}
		return pr.p.Files.Symlink(link, pr.dir, to)
	case !info.IsDir():
		return pr.copyFile(ctx, from, to, info.Mode().Perm())
	case !deep:
		return fmt.Errorf("omitting directory '%s'", from)
	case depth > depthMax:
		return pathError("copy", from, syscall.ENAMETOOLONG)
	}
	if err := pr.p.Files.Mkdir(pr.dir, to, 0o755); err != nil && !pr.isDir(to) {
		return err
	}
	entries, err := pr.p.Files.ReadDir(pr.dir, from)
	if err != nil {
		return err
	}
	var all error
	for _, e := range entries {
		all = errors.Join(all, pr.copyTree(ctx, join(from, e.Name()), join(to, e.Name()), deep, keepLinks, depth+1))
	}
	return all
}

func (pr *process) copyFile(ctx context.Context, from, to string, mode fs.FileMode) error {
	in, err := pr.open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if a, err := pr.stat(from); err == nil {
		if b, err := pr.stat(to); err == nil && os.SameFile(a, b) {
			return fmt.Errorf("'%s' and '%s' are the same file", from, to)
		}
	}
	out, err := pr.p.Files.Open(pr.dir, to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|0o600)
	if err != nil {
		return err
	}
	err = copyAll(ctx, out, in)
	return errors.Join(named(to, err), out.Close())
}

func mv(ctx context.Context, pr *process, args []string) int {
	_, operands, ok := pr.options(args, "fvnT", "", nil)
	if !ok {
		return 1
	}
	if len(operands) < 2 {
		fmt.Fprintln(pr.stderr, "mv: a file is missing")
		return 1
	}
	destination := operands[len(operands)-1]
	code := 0
	for _, source := range operands[:len(operands)-1] {
		to := pr.target(source, destination)
		err := pr.p.Files.Rename(pr.dir, source, to)
		if errors.Is(err, errOtherMount) {
			if err = pr.copyTree(ctx, source, to, true, true, 0); err == nil {
				err = pr.removeTree(ctx, source)
			}
		}
		if err != nil {
			code = pr.fail("mv", err)
		}
	}
	return code
}

func touch(_ context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "acmh", "dtr", nil)
	if !ok {
		return 1
	}
	code := 0
	for _, name := range operands {
		err := pr.p.Files.Touch(pr.dir, name, time.Now())
		if errors.Is(err, fs.ErrNotExist) && !has(set, 'c') {
			var f io.WriteCloser
			if f, err = pr.create(name, true); err == nil {
				err = f.Close()
			}
		}
		if err != nil {
			code = pr.fail("touch", err)
		}
	}
	return code
}

func ln(_ context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "sfnvT", "", nil)
	if !ok {
		return 1
	}
	if len(operands) == 1 {
		operands = append(operands, ".")
	}
	if len(operands) < 2 {
		fmt.Fprintln(pr.stderr, "ln: a file is missing")
		return 1
	}
	to := operands[1]
	if !has(set, 'n') && !has(set, 'T') {
		to = pr.target(operands[0], to)
	}
	if has(set, 'f') {
		_ = pr.p.Files.Remove(pr.dir, to)
	}
	var err error
	if has(set, 's') {
		err = pr.p.Files.Symlink(operands[0], pr.dir, to)
	} else {
		err = pr.p.Files.Link(pr.dir, operands[0], to)
	}
	if err != nil {
		return pr.fail("ln", err)
	}
	return 0
}

func readlink(_ context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "fn", "", nil)
	if !ok {
		return 1
	}
	code := 0
	for _, name := range operands {
		if has(set, 'f') {
			place, err := pr.p.Files.resolve(pr.dir, name, true)
			if err != nil {
				return pr.fail("readlink", pathError("readlink", name, err))
			}
			fmt.Fprintln(pr.stdout, place.path)
			continue
		}
		target, err := pr.p.Files.Readlink(pr.dir, name)
		if err != nil {
			code = 1
			continue
		}
		fmt.Fprintln(pr.stdout, target)
	}
	return code
}

func mktemp(_ context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "duqt", "p", nil)
	if !ok {
		return 1
	}
	template := "tmp.XXXXXX"
	if len(operands) > 0 {
		template = operands[0]
	}
	if !strings.Contains(template, "/") {
		dir := "/tmp"
		if d := set['p']; d != "" {
			dir = d
		}
		template = join(dir, template)
	}
	for range 100 {
		name := strings.TrimRight(template, "X") + randomName()
		var err error
		if has(set, 'd') {
			err = pr.p.Files.Mkdir(pr.dir, name, 0o700)
		} else {
			var f io.Closer
			if f, err = pr.p.Files.Open(pr.dir, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				err = f.Close()
			}
		}
		switch {
		case err == nil:
			fmt.Fprintln(pr.stdout, name)
			return 0
		case !errors.Is(err, fs.ErrExist):
			return pr.fail("mktemp", err)
		}
	}
	return 1
}
