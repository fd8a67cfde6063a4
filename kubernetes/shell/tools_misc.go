package shell

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
)

func randomName() string { return rand.Text()[:6] }

// xargsMax is the most words that xargs gives to a command.
const xargsMax = 5000

func xargs(ctx context.Context, pr *process, args []string) int {
	rest, each, nul := args[1:], xargsMax, false
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		switch {
		case rest[0] == "-0":
			nul = true
		case rest[0] == "-n" && len(rest) > 1:
			n, err := strconv.Atoi(rest[1])
			if err != nil || n < 1 {
				return pr.fail("xargs", fmt.Errorf("invalid number '%s'", rest[1]))
			}
			each, rest = min(n, xargsMax), rest[1:]
		case rest[0] != "-r":
			return pr.fail("xargs", fmt.Errorf("unsupported option: %s", rest[0]))
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		rest = []string{"echo"}
	}
	var text strings.Builder
	if err := copyAll(ctx, &text, io.LimitReader(orEmpty(pr.stdin), lineBytes)); err != nil {
		return pr.fail("xargs", err)
	}
	words := strings.Fields(text.String())
	if nul {
		words = strings.FieldsFunc(text.String(), func(c rune) bool { return c == 0 })
	}
	code := 0
	inner := *pr
	inner.stdin = nil
	for batch := range slices.Chunk(words, each) {
		if inner.execute(ctx, slices.Concat(rest, batch), false) != 0 {
			code = 123
		}
		if ctx.Err() != nil {
			return exitSignaled + sigterm
		}
	}
	return code
}

func orEmpty(r io.Reader) io.Reader {
	if r == nil {
		return strings.NewReader("")
	}
	return r
}

func seq(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(slices.Concat([]string{args[0]}, negative(args[1:])), "w", "s", nil)
	if !ok || len(operands) == 0 || len(operands) > 3 {
		return 1
	}
	numbers := make([]float64, len(operands))
	whole := true
	for i, o := range operands {
		f, err := strconv.ParseFloat(strings.TrimPrefix(o, "\x00"), 64)
		if err != nil {
			return pr.fail("seq", fmt.Errorf("invalid number '%s'", o))
		}
		numbers[i] = f
		whole = whole && f == float64(int64(f))
	}
	first, step, last := 1.0, 1.0, numbers[len(numbers)-1]
	if len(numbers) > 1 {
		first = numbers[0]
	}
	if len(numbers) > 2 {
		step = numbers[1]
	}
	if step == 0 {
		return pr.fail("seq", errors.New("the increment is zero"))
	}
	separator := "\n"
	if s, ok := set['s']; ok {
		separator = s
	}
	for i := 0; ; i++ {
		v := first + float64(i)*step
		if step > 0 && v > last || step < 0 && v < last {
			break
		}
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if whole {
			text = strconv.FormatInt(int64(v), 10)
		}
		if i > 0 {
			text = separator + text
		}
		if i%256 == 0 {
			if err := moved(ctx, 256*8); err != nil {
				return exitSignaled + sigterm
			}
		}
		if _, err := io.WriteString(pr.stdout, text); err != nil {
			return 1
		}
	}
	fmt.Fprintln(pr.stdout)
	return 0
}

// negative marks numbers below zero, which look like options.
func negative(args []string) []string {
	out := slices.Clone(args)
	for i, a := range out {
		if _, err := strconv.ParseFloat(a, 64); err == nil && strings.HasPrefix(a, "-") {
			out[i] = "\x00" + a
		}
	}
	return out
}

func env(ctx context.Context, pr *process, args []string) int {
	rest := args[1:]
	list := exported(pr.env)
	if args[0] == "printenv" && len(rest) > 0 {
		code := 0
		for _, name := range rest {
			v := pr.env.Get(name)
			if !v.IsSet() {
				code = 1
				continue
			}
			fmt.Fprintln(pr.stdout, v.String())
		}
		return code
	}
	for len(rest) > 0 {
		switch {
		case rest[0] == "-i" || rest[0] == "-":
			list = nil
		case rest[0] == "-u" && len(rest) > 1:
			list = slices.DeleteFunc(list, func(e string) bool { return strings.HasPrefix(e, rest[1]+"=") })
			rest = rest[1:]
		case !strings.Contains(rest[0], "="):
			inner := *pr
			inner.env = expand.ListEnviron(list...)
			return inner.execute(ctx, rest, pr.top)
		default:
			list = append(list, rest[0])
		}
		rest = rest[1:]
	}
	expand.ListEnviron(list...).Each(func(name string, v expand.Variable) bool {
		fmt.Fprintf(pr.stdout, "%s=%s\n", name, v.String())
		return true
	})
	return 0
}

func identity(_ context.Context, pr *process, args []string) int {
	switch args[0] {
	case "hostname":
		fmt.Fprintln(pr.stdout, pr.p.Hostname)
	case "whoami":
		fmt.Fprintln(pr.stdout, pr.owner())
	case "nproc":
		fmt.Fprintln(pr.stdout, 1)
	case "uname":
		text := "Linux"
		if len(args) > 1 && strings.Contains(args[1], "a") {
			text = "Linux " + pr.p.Hostname + " 6.1.0 #1 SMP x86_64 GNU/Linux"
		} else if len(args) > 1 {
			text = map[string]string{"-n": pr.p.Hostname, "-m": "x86_64", "-r": "6.1.0"}[args[1]]
			if text == "" {
				text = "Linux"
			}
		}
		fmt.Fprintln(pr.stdout, text)
	default:
		name := func(n int64) string {
			if n == 0 {
				return "0(root)"
			}
			return strconv.FormatInt(n, 10)
		}
		switch {
		case len(args) == 1:
			fmt.Fprintf(pr.stdout, "uid=%s gid=%s groups=%s\n", name(pr.p.UID), name(pr.p.GID), name(pr.p.GID))
		case args[1] == "-u":
			fmt.Fprintln(pr.stdout, pr.p.UID)
		case args[1] == "-g" || args[1] == "-G":
			fmt.Fprintln(pr.stdout, pr.p.GID)
		default:
			fmt.Fprintln(pr.stdout, pr.owner())
		}
	}
	return 0
}

func which(_ context.Context, pr *process, args []string) int {
	code := 0
	for _, name := range args[1:] {
		switch {
		case strings.HasPrefix(name, "-"):
		case findTool(name) != nil, IsShell(name), isBuiltin(name):
			if strings.Contains(name, "/") {
				fmt.Fprintln(pr.stdout, name)
			} else {
				fmt.Fprintln(pr.stdout, "/bin/"+name)
			}
		case slices.Contains(shellBuiltins(), name):
			fmt.Fprintln(pr.stdout, name)
		default:
			code = 1
		}
	}
	return code
}

// shellBuiltins are commands of the interpreter that are no programs.
func shellBuiltins() []string {
	return []string{"alias", "cd", "command", "eval", "exec", "exit", "export", "getopts", "hash", "kill", "local", "read", "return", "set", "shift", "source", "trap", "type", "ulimit", "umask", "unset", "wait"}
}

// kill signals the container's process. There are no others: shells that it starts are goroutines.
func kill(_ context.Context, pr *process, args []string) int {
	signal := sigterm
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		name := strings.TrimPrefix(rest[0], "-")
		if (name == "s" || name == "n") && len(rest) > 1 {
			name, rest = rest[1], rest[1:]
		}
		switch strings.TrimPrefix(strings.ToUpper(name), "SIG") {
		case "9", "KILL":
			signal = 9
		case "0":
			signal = 0
		}
		rest = rest[1:]
	}
	code := 0
	for _, pid := range rest {
		if pid != "1" || pr.p.Kill == nil {
			fmt.Fprintf(pr.stderr, "sh: can't kill pid %s: No such process\n", pid)
			code = 1
			continue
		}
		if signal != 0 {
			pr.p.Kill(signal)
		}
	}
	return code
}

func pathPart(_ context.Context, pr *process, args []string) int {
	if len(args) < 2 {
		fmt.Fprintf(pr.stderr, "%s: a path is missing\n", args[0])
		return 1
	}
	if args[0] == "dirname" {
		fmt.Fprintln(pr.stdout, path.Dir(args[1]))
		return 0
	}
	base := path.Base(args[1])
	if len(args) > 2 && base != args[2] {
		base = strings.TrimSuffix(base, args[2])
	}
	fmt.Fprintln(pr.stdout, base)
	return 0
}
