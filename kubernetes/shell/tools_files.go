package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
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

func ls(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "laA1dhRrtSinF", "", map[string]byte{"all": 'a', "recursive": 'R', "directory": 'd'})
	if !ok {
		return 1
	}
	if len(operands) == 0 {
		operands = []string{"."}
	}
	show := func(name string, info fs.FileInfo, at string) {
		if !has(set, 'l') {
			fmt.Fprintln(pr.stdout, name)
			return
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if target, err := pr.p.Files.Readlink(pr.dir, at); err == nil {
				name += " -> " + target
			}
		}
		fmt.Fprintf(pr.stdout, "%s %4d %-8s %-8s %9s %s %s\n", modeText(info.Mode()), 1, pr.owner(), pr.owner(), size(info.Size(), has(set, 'h')),
			info.ModTime().UTC().Format("Jan _2 15:04"), name)
	}
	code := 0
	list := func(dir string) error {
		entries, err := pr.p.Files.ReadDir(pr.dir, dir)
		if err != nil {
			return err
		}
		if has(set, 'a') {
			for _, name := range []string{".", ".."} {
				if info, err := pr.stat(join(dir, name)); err == nil {
					show(name, info, dir)
				}
			}
		}
		for _, e := range entries {
			if err := moved(ctx, 0); err != nil {
				return err
			}
			if strings.HasPrefix(e.Name(), ".") && !has(set, 'a') && !has(set, 'A') {
				continue
			}
			if info, err := e.Info(); err == nil {
				show(e.Name(), info, join(dir, e.Name()))
			}
		}
		return nil
	}
	for i, name := range operands {
		info, err := pr.lstat(name)
		if err == nil && !info.IsDir() && info.Mode()&fs.ModeSymlink != 0 && !has(set, 'l') {
			if to, err := pr.stat(name); err == nil {
				info = to
			}
		}
		switch {
		case err != nil:
			code = pr.fail("ls", err)
			continue
		case !info.IsDir() || has(set, 'd'):
			show(name, info, name)
			continue
		}
		if has(set, 'R') {
			err = pr.walk(ctx, name, 0, func(name string, info fs.FileInfo, _ int) error {
				if !info.IsDir() {
					return nil
				}
				fmt.Fprintf(pr.stdout, "%s:\n", name)
				return list(name)
			})
		} else {
			if len(operands) > 1 {
				fmt.Fprintf(pr.stdout, "%s%s:\n", map[bool]string{true: "\n"}[i > 0], name)
			}
			err = list(name)
		}
		if err != nil {
			code = pr.fail("ls", err)
		}
	}
	return code
}

// modeText returns a mode as ls prints it.
func modeText(m fs.FileMode) string {
	kind := "-"
	switch {
	case m.IsDir():
		kind = "d"
	case m&fs.ModeSymlink != 0:
		kind = "l"
	}
	return kind + m.Perm().String()[1:]
}

// owner is whom all files belong to: ownership is not kept.
func (pr *process) owner() string {
	if pr.p.UID == 0 {
		return "root"
	}
	return strconv.FormatInt(pr.p.UID, 10)
}

// size returns a size as -h prints it.
func size(n int64, human bool) string {
	if !human || n < 1024 {
		return strconv.FormatInt(n, 10)
	}
	f, unit := float64(n), 0
	for f >= 1024 && unit < 4 {
		f /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f%c", f, " KMGT"[unit])
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

// modeChange parses a mode such as 755, u+x or go-w,a+r.
func modeChange(text string) (func(fs.FileMode) fs.FileMode, error) {
	if n, err := strconv.ParseUint(text, 8, 32); err == nil {
		return func(fs.FileMode) fs.FileMode { return fs.FileMode(n) & fs.ModePerm }, nil
	}
	invalid := fmt.Errorf("invalid mode '%s'", text)
	var steps []func(fs.FileMode) fs.FileMode
	for clause := range strings.SplitSeq(text, ",") {
		i := strings.IndexAny(clause, "+-=")
		if i < 0 {
			return nil, invalid
		}
		var who, what fs.FileMode
		for _, c := range clause[:i] {
			switch c {
			case 'u':
				who |= 0o700
			case 'g':
				who |= 0o070
			case 'o':
				who |= 0o007
			case 'a':
				who |= 0o777
			default:
				return nil, invalid
			}
		}
		if who == 0 {
			who = 0o777
		}
		exec := false
		for _, c := range clause[i+1:] {
			switch c {
			case 'r':
				what |= 0o444
			case 'w':
				what |= 0o222
			case 'x':
				what |= 0o111
			case 'X':
				exec = true
			case 's', 't':
			default:
				return nil, invalid
			}
		}
		op := clause[i]
		steps = append(steps, func(m fs.FileMode) fs.FileMode {
			bits := what
			if exec && (m.IsDir() || m&0o111 != 0) {
				bits |= 0o111
			}
			switch op {
			case '+':
				return m | bits&who
			case '-':
				return m &^ (bits & who)
			}
			return m&^who | bits&who
		})
	}
	return func(m fs.FileMode) fs.FileMode {
		for _, step := range steps {
			m = step(m)
		}
		return m
	}, nil
}

// splitMode takes the mode of chmod out of its arguments: one such as -x looks like an option.
func chmod(ctx context.Context, pr *process, args []string) int {
	rest, deep := args[1:], false
	for len(rest) > 0 && (rest[0] == "-R" || rest[0] == "-v" || rest[0] == "-f" || rest[0] == "--") {
		deep = deep || rest[0] == "-R"
		rest = rest[1:]
	}
	if len(rest) < 2 {
		fmt.Fprintln(pr.stderr, "chmod: a mode or a file is missing")
		return 1
	}
	change, err := modeChange(rest[0])
	if err != nil {
		return pr.fail("chmod", err)
	}
	code := 0
	for _, name := range rest[1:] {
		err := pr.p.Files.Chmod(pr.dir, name, change)
		if deep && err == nil {
			err = pr.walk(ctx, name, 0, func(name string, info fs.FileInfo, _ int) error {
				if info.Mode()&fs.ModeSymlink != 0 {
					return nil
				}
				return pr.p.Files.Chmod(pr.dir, name, change)
			})
		}
		if err != nil {
			code = pr.fail("chmod", err)
		}
	}
	return code
}

// chown checks that the files are there: ownership is not kept.
func chown(_ context.Context, pr *process, args []string) int {
	_, operands, ok := pr.options(args, "RvfhHLP", "", map[string]byte{"recursive": 'R', "no-dereference": 'h'})
	if !ok {
		return 1
	}
	if len(operands) < 2 {
		fmt.Fprintf(pr.stderr, "%s: an owner or a file is missing\n", args[0])
		return 1
	}
	code := 0
	for _, name := range operands[1:] {
		place, err := pr.p.Files.resolve(pr.dir, name, true)
		if err == nil {
			_, err = place.lstat()
		}
		if err == nil && place.mount.ReadOnly {
			err = syscall.EROFS
		}
		if err != nil {
			code = pr.fail(args[0], pathError("chown", name, err))
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

func stat(_ context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "L", "c", map[string]byte{"format": 'c'})
	if !ok {
		return 1
	}
	code := 0
	for _, name := range operands {
		info, err := pr.lstat(name)
		if has(set, 'L') {
			info, err = pr.stat(name)
		}
		if err != nil {
			code = pr.fail("stat", err)
			continue
		}
		format := set['c']
		if format == "" {
			format = "  File: %n\n  Size: %s\nAccess: (%a/%A)  Uid: %u  Gid: %g\nModify: %y"
		}
		kind := "regular file"
		switch {
		case info.IsDir():
			kind = "directory"
		case info.Mode()&fs.ModeSymlink != 0:
			kind = "symbolic link"
		}
		fmt.Fprintln(pr.stdout, strings.NewReplacer(
			"%n", name, "%s", strconv.FormatInt(info.Size(), 10), "%a", strconv.FormatUint(uint64(info.Mode().Perm()), 8), "%A", modeText(info.Mode()),
			"%u", strconv.FormatInt(pr.p.UID, 10), "%g", strconv.FormatInt(pr.p.GID, 10), "%U", pr.owner(), "%G", pr.owner(), "%F", kind,
			"%Y", strconv.FormatInt(info.ModTime().Unix(), 10), "%y", info.ModTime().UTC().Format("2006-01-02 15:04:05.000000000 +0000"),
		).Replace(format))
	}
	return code
}

func find(ctx context.Context, pr *process, args []string) int {
	rest := args[1:]
	var roots []string
	for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		roots, rest = append(roots, rest[0]), rest[1:]
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	var tests []func(name string, info fs.FileInfo) bool
	deepest, shallowest, remove, end := depthMax, 0, false, "\n"
	for len(rest) > 0 {
		test := rest[0]
		value := ""
		if len(rest) > 1 {
			value = rest[1]
		}
		used := 2
		switch test {
		case "-name", "-iname":
			tests = append(tests, func(name string, _ fs.FileInfo) bool {
				base := path.Base(name)
				if test == "-iname" {
					base, value = strings.ToLower(base), strings.ToLower(value)
				}
				is, _ := path.Match(value, base)
				return is
			})
		case "-type":
			tests = append(tests, func(_ string, info fs.FileInfo) bool {
				return modeText(info.Mode())[:1] == strings.Replace(value, "f", "-", 1)
			})
		case "-maxdepth", "-mindepth":
			n, err := strconv.Atoi(value)
			if err != nil {
				return pr.fail("find", fmt.Errorf("invalid number '%s'", value))
			}
			if test == "-maxdepth" {
				deepest = n
			} else {
				shallowest = n
			}
		case "-empty":
			used = 1
			tests = append(tests, func(_ string, info fs.FileInfo) bool { return info.Size() == 0 })
		case "-delete":
			used, remove = 1, true
		case "-print":
			used = 1
		case "-print0":
			used, end = 1, "\x00"
		default:
			return pr.fail("find", fmt.Errorf("unsupported: %s", test))
		}
		rest = rest[min(used, len(rest)):]
	}
	code := 0
	var found []string
	for _, root := range roots {
		err := pr.walk(ctx, root, 0, func(name string, info fs.FileInfo, depth int) error {
			if depth > deepest || depth < shallowest {
				return nil
			}
			for _, test := range tests {
				if !test(name, info) {
					return nil
				}
			}
			if remove {
				found = append(found, name)
				return nil
			}
			_, err := io.WriteString(pr.stdout, name+end)
			return err
		})
		if err != nil {
			code = pr.fail("find", err)
		}
	}
	for i := range found {
		if err := pr.p.Files.Remove(pr.dir, found[len(found)-1-i]); err != nil {
			code = pr.fail("find", err)
		}
	}
	return code
}

func du(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "shkamcx", "d", nil)
	if !ok {
		return 1
	}
	if len(operands) == 0 {
		operands = []string{"."}
	}
	code := 0
	for _, name := range operands {
		var total int64
		err := pr.walk(ctx, name, 0, func(_ string, info fs.FileInfo, _ int) error {
			if info.Mode().IsRegular() {
				total += info.Size()
			}
			return nil
		})
		if err != nil {
			code = pr.fail("du", err)
			continue
		}
		shown := strconv.FormatInt((total+1023)/1024, 10)
		if has(set, 'h') {
			shown = size(total, true)
		}
		fmt.Fprintf(pr.stdout, "%s\t%s\n", shown, name)
	}
	return code
}

func df(_ context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "hkPTm", "", nil)
	if !ok {
		return 1
	}
	var shown []*Mount
	for _, name := range operands {
		place, err := pr.p.Files.resolve(pr.dir, name, true)
		if err == nil {
			_, err = place.lstat()
		}
		if err != nil {
			return pr.fail("df", pathError("df", name, err))
		}
		shown = append(shown, place.mount)
	}
	if len(operands) == 0 {
		for i := range pr.p.Files.mounts {
			shown = append(shown, &pr.p.Files.mounts[len(pr.p.Files.mounts)-1-i])
		}
	}
	unit := "1K-blocks"
	if has(set, 'h') {
		unit = "Size"
	}
	fmt.Fprintf(pr.stdout, "%-20s %10s %10s %10s %4s %s\n", "Filesystem", unit, "Used", "Available", "Use%", "Mounted on")
	show := func(n int64) string {
		if has(set, 'h') {
			return size(n, true)
		}
		return strconv.FormatInt(n/1024, 10)
	}
	for _, m := range shown {
		if m.Usage == nil {
			continue
		}
		device, total, used, err := m.Usage()
		if err != nil {
			return pr.fail("df", pathError("df", m.Path, err))
		}
		percent := int64(0)
		if total > 0 {
			percent = (used*100 + total - 1) / total
		}
		fmt.Fprintf(pr.stdout, "%-20s %10s %10s %10s %3d%% %s\n", device, show(total), show(used), show(max(0, total-used)), percent, m.Path)
	}
	return 0
}

func dd(ctx context.Context, pr *process, args []string) int {
	values := map[string]string{"bs": "512"}
	for _, a := range args[1:] {
		name, value, ok := strings.Cut(a, "=")
		if !ok {
			return pr.fail("dd", fmt.Errorf("unrecognized operand '%s'", a))
		}
		values[name] = value
	}
	number := func(name string, without int64) int64 {
		v, ok := values[name]
		if !ok {
			return without
		}
		n, err := count(v)
		if err != nil {
			pr.fail("dd", err)
			return -2
		}
		return n
	}
	block, blocks, skip, seek := number("bs", 512), number("count", -1), number("skip", 0), number("seek", 0)
	if block == -2 || blocks == -2 || skip == -2 || seek == -2 || block == 0 {
		return 1
	}
	if block > 16<<20 {
		return pr.fail("dd", fmt.Errorf("memory exhausted by input buffer of size %d bytes", block))
	}
	in := pr.stdin
	if name := values["if"]; name != "" {
		f, err := pr.open(name)
		if err != nil {
			return pr.fail("dd", err)
		}
		defer f.Close()
		in = f
	}
	if in == nil {
		in = strings.NewReader("")
	}
	out := pr.stdout
	if name := values["of"]; name != "" {
		flag := os.O_WRONLY | os.O_CREATE
		if !strings.Contains(values["conv"], "notrunc") && seek == 0 {
			flag |= os.O_TRUNC
		}
		f, err := pr.p.Files.Open(pr.dir, name, flag, 0o644)
		if err != nil {
			return pr.fail("dd", err)
		}
		defer f.Close()
		if s, ok := f.(io.Seeker); ok && seek > 0 {
			if seek > fileBytes/block {
				return pr.fail("dd", pathError("seek", name, syscall.EFBIG))
			}
			if _, err := s.Seek(seek*block, io.SeekStart); err != nil {
				return pr.fail("dd", named(name, err))
			}
		}
		out = f
	}
	if skip > 0 {
		if err := copyAll(ctx, io.Discard, io.LimitReader(in, skip*block)); err != nil {
			return pr.fail("dd", err)
		}
	}
	started := time.Now()
	buf := make([]byte, block)
	var whole, part, total int64
	var failed error
	for n := int64(0); blocks < 0 || n < blocks; n++ {
		got, err := io.ReadFull(in, buf)
		if got > 0 {
			if err := moved(ctx, got); err != nil {
				failed = err
				break
			}
			if int64(got) == block {
				whole++
			} else {
				part++
			}
			w, err := out.Write(buf[:got])
			total += int64(w)
			if err != nil {
				failed = err
				break
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				failed = err
			}
			break
		}
	}
	if values["status"] != "none" {
		fmt.Fprintf(pr.stderr, "%d+%d records in\n%d+%d records out\n", whole, part, whole, part)
		if values["status"] != "noxfer" {
			fmt.Fprintf(pr.stderr, "%d bytes copied, %.6f seconds\n", total, time.Since(started).Seconds())
		}
	}
	if failed != nil {
		return pr.fail("dd", named(values["of"], failed))
	}
	return 0
}
