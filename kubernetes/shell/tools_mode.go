package shell

import (
	"context"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
)

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
