package shell

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

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
