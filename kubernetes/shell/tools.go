package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// toolFunc is a program of the container. It returns its exit code.
type toolFunc func(ctx context.Context, pr *process, args []string) int

// findTool returns the tool of a command; nil if it is no tool.
func findTool(name string) toolFunc {
	base, ok := program(name)
	if !ok {
		return nil
	}
	switch base {
	case "basename", "dirname":
		return pathPart
	case "cat":
		return cat
	case "chmod":
		return chmod
	case "chown", "chgrp":
		return chown
	case "cp":
		return cp
	case "cut":
		return cut
	case "date":
		return date
	case "dd":
		return dd
	case "df":
		return df
	case "du":
		return du
	case "echo":
		return echo
	case "env", "printenv":
		return env
	case "find":
		return find
	case "grep", "egrep", "fgrep":
		return grep
	case "head":
		return head
	case "hostname", "whoami", "uname", "id", "nproc":
		return identity
	case "kill-process", "kill":
		return kill
	case "ln":
		return ln
	case "ls":
		return ls
	case "md5sum", "sha1sum", "sha256sum":
		return checksum
	case "mkdir":
		return mkdir
	case "mktemp":
		return mktemp
	case "mv":
		return mv
	case "printf":
		return printf
	case "readlink":
		return readlink
	case "rm":
		return rm
	case "rmdir":
		return rmdir
	case "sed":
		return sed
	case "seq":
		return seq
	case "sleep":
		return sleep
	case "sort", "uniq":
		return sortLines
	case "stat":
		return stat
	case "sync":
		return func(context.Context, *process, []string) int { return 0 }
	case "tail":
		return tail
	case "tar":
		return tarTool
	case "tee":
		return tee
	case "touch":
		return touch
	case "tr":
		return tr
	case "wc":
		return wc
	case "which":
		return which
	case "timeout":
		return timeout
	case "xargs":
		return xargs
	}
	return nil
}

// isBuiltin reports whether a command is one of the shell's that also is a program.
func isBuiltin(name string) bool {
	base, ok := program(name)
	if !ok {
		return false
	}
	switch base {
	case "[", "false", "pwd", "test", "true", ":":
		return true
	}
	return false
}

// tool runs a tool.
func (pr *process) tool(ctx context.Context, tool toolFunc, args []string) int {
	base, _ := program(args[0])
	return tool(ctx, pr, append([]string{base}, args[1:]...))
}

// options parses the options of a tool: letters of flags, and of those that have a value. A long option is known by its letter in
// long. It returns the operands; ok is false after it has reported a usage error.
func (pr *process) options(args []string, flags, values string, long map[string]byte) (set map[byte]string, operands []string, ok bool) {
	set = map[byte]string{}
	bad := func(what string) (map[byte]string, []string, bool) {
		fmt.Fprintf(pr.stderr, "%s: unsupported option: %s\n", args[0], what)
		return nil, nil, false
	}
	rest := args[1:]
	for len(rest) > 0 {
		a := rest[0]
		if a == "--" {
			return set, append(operands, rest[1:]...), true
		}
		if len(a) < 2 || a[0] != '-' {
			operands = append(operands, a)
			rest = rest[1:]
			continue
		}
		rest = rest[1:]
		if name, isLong := strings.CutPrefix(a, "--"); isLong {
			name, value, given := strings.Cut(name, "=")
			letter := long[name]
			switch {
			case letter == 0:
				return bad(a)
			case strings.IndexByte(values, letter) >= 0 && !given:
				if len(rest) == 0 {
					return bad(a)
				}
				value, rest = rest[0], rest[1:]
			}
			set[letter] = value
			continue
		}
		for i := 1; i < len(a); i++ {
			c := a[i]
			switch {
			case strings.IndexByte(values, c) >= 0:
				value := a[i+1:]
				if value == "" {
					if len(rest) == 0 {
						return bad(a)
					}
					value, rest = rest[0], rest[1:]
				}
				set[c] = value
				i = len(a)
			case strings.IndexByte(flags, c) >= 0:
				set[c] = ""
			default:
				return bad(a)
			}
		}
	}
	return set, operands, true
}

// has reports whether an option is set.
func has(set map[byte]string, letter byte) bool {
	_, ok := set[letter]
	return ok
}

// chunk is how much is copied at once.
const chunk = 32 << 10

// copyAll copies until the end of input, an error or the end of ctx.
func copyAll(ctx context.Context, w io.Writer, r io.Reader) error {
	if r == nil {
		return nil
	}
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := moved(ctx, n); err != nil {
				return err
			}
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// inputs calls do with each operand's content, or with the standard input without operands or if the operand is "-". It returns the
// exit code.
func (pr *process) inputs(command string, operands []string, do func(name string, r io.Reader) error) int {
	if len(operands) == 0 {
		operands = []string{"-"}
	}
	code := 0
	for _, name := range operands {
		if err := pr.input(name, do); err != nil {
			code = pr.fail(command, err)
		}
	}
	return code
}

func (pr *process) input(name string, do func(name string, r io.Reader) error) error {
	if name == "-" {
		if pr.stdin == nil {
			return do(name, strings.NewReader(""))
		}
		return do(name, pr.stdin)
	}
	f, err := pr.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return named(name, do(name, f))
}

// open opens a file to read.
func (pr *process) open(name string) (io.ReadCloser, error) {
	if name == "/dev/stdin" {
		if pr.stdin == nil {
			return io.NopCloser(strings.NewReader("")), nil
		}
		return io.NopCloser(pr.stdin), nil
	}
	info, err := pr.p.Files.Stat(pr.dir, name, true)
	if err == nil && info.IsDir() {
		return nil, pathError("read", name, errIsDir)
	}
	return pr.p.Files.Open(pr.dir, name, 0, 0)
}

// named returns an error with the name of the file that it is about, as the container knows it.
func named(name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return pathError("", name, err)
}
