package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// session is one shell of a program: the first one, or one that it starts.
type session struct {
	p *Program
	// top is the container's own process, whose place a stand-in may take.
	top bool

	runner *interp.Runner
	// last is where the last command of the script is.
	last map[uint]bool
}

// process is what a tool knows.
type process struct {
	*session
	dir            string
	env            expand.Environ
	stdin          io.Reader
	stdout, stderr io.Writer
}

// command interprets a command line, and returns its exit code.
func (s *session) command(ctx context.Context, args []string) int {
	pr := &process{session: s, dir: s.p.dir(), env: expand.ListEnviron(s.p.Env...), stdin: s.p.Stdin, stdout: s.p.Stdout, stderr: s.p.Stderr}
	if pr.stdin != nil && s.p.terminal != nil {
		pr.stdin = s.p.terminal
	}
	return pr.execute(ctx, args, s.top)
}

// execute runs a shell, a tool, a builtin or a script. A program that is none of them is not found, unless a stand-in may take the
// place of the process.
func (pr *process) execute(ctx context.Context, args []string, replace bool) int {
	args = unwrap(args)
	name := args[0]
	switch tool := findTool(name); {
	case IsShell(name):
		return pr.shell(ctx, args)
	case tool != nil:
		return pr.tool(ctx, tool, args)
	case isBuiltin(name):
		text, err := quoted(args)
		if err != nil {
			return pr.fail("sh", err)
		}
		return pr.script(ctx, script{text: text, name: "sh"})
	case pr.p.isScript(pr.dir, name):
		return pr.file(ctx, args)
	}
	stands := replace && pr.p.StandIn != nil
	pr.p.mu.Lock()
	pr.p.unknown = true
	pr.p.stood = stands
	pr.p.mu.Unlock()
	if stands {
		return pr.p.StandIn(ctx, args)
	}
	fmt.Fprintf(pr.stderr, "sh: %s: not found\n", name)
	return exitNotFound
}

// fail prints an error as a command does, and returns 1.
func (pr *process) fail(command string, err error) int {
	fmt.Fprintf(pr.stderr, "%s: %s\n", command, describe(err))
	return 1
}

// describe returns an error in the words of a C library.
func describe(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Path + ": " + capital(e.Err.Error())
	}
	return err.Error()
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// script is the text of a shell script with its options.
type script struct {
	text, name string
	params     []string
	options    []string // of set
}

// shell interprets the command line of a shell.
func (pr *process) shell(ctx context.Context, args []string) int {
	var sc script
	rest := args[1:]
	text := false
	for len(rest) > 0 && len(rest[0]) > 1 && (rest[0][0] == '-' || rest[0][0] == '+') {
		option := rest[0]
		rest = rest[1:]
		if option == "--" {
			break
		}
		if strings.HasPrefix(option, "--") {
			continue // such as --login
		}
		var letters strings.Builder
		for _, c := range option[1:] {
			switch c {
			case 'c':
				text = true
			case 'o':
				if len(rest) > 0 {
					sc.options = append(sc.options, option[:1]+"o", rest[0])
					rest = rest[1:]
				}
			case 'e', 'u', 'x', 'f', 'n', 'a':
				letters.WriteRune(c)
			}
		}
		if letters.Len() > 0 {
			sc.options = append(sc.options, option[:1]+letters.String())
		}
	}
	switch {
	case text && len(rest) == 0:
		fmt.Fprintf(pr.stderr, "%s: -c: option requires an argument\n", args[0])
		return exitUsage
	case text:
		sc.text, sc.name = rest[0], args[0]
		if len(rest) > 1 {
			sc.name, sc.params = rest[1], rest[2:]
		}
		return pr.script(ctx, sc)
	case len(rest) > 0:
		return pr.file(ctx, rest)
	}
	return pr.interactive(ctx, sc)
}

// scriptBytes is the longest script.
const scriptBytes = 1 << 20

// file interprets a script of the files.
func (pr *process) file(ctx context.Context, args []string) int {
	f, err := pr.p.Files.Open(pr.dir, args[0], 0, 0)
	if err != nil {
		pr.fail("sh", err)
		return exitNotFound
	}
	text, err := io.ReadAll(io.LimitReader(f, scriptBytes))
	_ = f.Close()
	if err != nil {
		return pr.fail("sh", err)
	}
	return pr.script(ctx, script{text: string(text), name: args[0], params: args[1:]})
}

// script interprets a script in another shell.
func (pr *process) script(ctx context.Context, sc script) int {
	parsed, err := parse(sc.text, sc.name)
	if err != nil {
		fmt.Fprintf(pr.stderr, "%s: %v\n", sc.name, err)
		return exitUsage
	}
	inner := &session{p: pr.p, top: pr.top, last: map[uint]bool{}}
	if len(parsed.Stmts) > 0 {
		inner.replaced(parsed.Stmts[len(parsed.Stmts)-1])
	}
	r, err := inner.newRunner(pr, sc)
	if err != nil {
		return pr.fail(sc.name, err)
	}
	if pr.top {
		pr.runner = r
	}
	return exitCode(r.Run(ctx, parsed))
}

// parse parses a script, and refuses what would take too much when it is expanded.
func parse(text, name string) (*syntax.File, error) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), name)
	if err != nil {
		return nil, err
	}
	return f, harmless(f)
}

// bracesMax is the most words that a brace expression may become.
const bracesMax = 100000

// harmless returns why a script is refused.
func harmless(node syntax.Node) (err error) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ProcSubst:
			err = fmt.Errorf("%s: process substitution is not supported", n.Pos())
		case *syntax.Word:
			words := 1.0
			for _, part := range n.Parts {
				if lit, ok := part.(*syntax.Lit); ok {
					words *= braces(lit.Value)
				}
			}
			if words > bracesMax {
				err = fmt.Errorf("%s: brace expression of more than %d words", n.Pos(), bracesMax)
			}
		}
		return err == nil
	})
	return err
}

// braces returns about how many words the brace expressions of a text become.
func braces(text string) float64 {
	if !strings.Contains(text, "{") {
		return 1
	}
	words := 1.0
	for _, m := range regexp.MustCompile(`\{([^{}]*)`).FindAllStringSubmatch(text, -1) {
		from, to, ok := strings.Cut(m[1], "..")
		if !ok {
			words *= float64(1 + strings.Count(m[1], ","))
			continue
		}
		to, _, _ = strings.Cut(to, "..")
		a, errA := strconv.ParseFloat(from, 64)
		b, errB := strconv.ParseFloat(to, 64)
		if errA != nil || errB != nil {
			a, b = 0, 256 // letters
		}
		words *= math.Abs(b-a) + 1
	}
	return words
}

// replaced notes the simple command that a shell would execute in its place: the last one.
func (s *session) replaced(st *syntax.Stmt) {
	if st.Background || st.Negated {
		return
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		s.last[c.Pos().Offset()] = true
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			s.replaced(c.Y)
		}
	}
}

// exitCode returns the exit code of what the interpreter returned.
func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(code)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return exitSignaled + sigterm
	}
	return 1
}

// execMark marks the command of the builtin exec.
const execMark = "\x00exec\x00"

// environ are the variables of a shell. It answers what the interpreter would otherwise ask of the host: where named pipes are, and
// the home of a user.
type environ struct {
	expand.Environ
	ready bool
}

// Get implements expand.Environ.
func (e *environ) Get(name string) expand.Variable {
	fixed := func(s string) expand.Variable {
		return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: s}
	}
	if name == "TMPDIR" && !e.ready {
		return fixed("/\x00") // a path that no file has
	}
	if user, ok := strings.CutPrefix(name, "HOME "); ok {
		if user == "root" {
			return fixed("/root")
		}
		return fixed("/home/" + user)
	}
	return e.Environ.Get(name)
}

// newRunner returns an interpreter for a shell that a process starts.
func (s *session) newRunner(pr *process, sc script) (*interp.Runner, error) {
	var list []string
	defaults := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "HOSTNAME": pr.p.Hostname,
		"UID": strconv.FormatInt(pr.p.UID, 10), "EUID": strconv.FormatInt(pr.p.UID, 10), "GID": strconv.FormatInt(pr.p.GID, 10),
	}
	for _, name := range []string{"PATH", "HOME", "HOSTNAME", "UID", "EUID", "GID"} {
		if !pr.env.Get(name).IsSet() {
			list = append(list, name+"="+defaults[name])
		}
	}
	list = append(list, exported(pr.env)...)
	env := &environ{Environ: expand.ListEnviron(list...)}
	params := append(append([]string{}, sc.options...), "--")
	params = append(params, sc.params...)
	r, err := interp.New(
		interp.Env(env), interp.StdIO(pr.stdin, pr.stdout, pr.stderr), interp.Params(params...), interp.Dir("/"),
		interp.CallHandler(s.call), interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(func(ctx context.Context, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
			hc := interp.HandlerCtx(ctx)
			return s.open(&hc, name, flag, perm)
		}),
		interp.ReadDirHandler2(func(_ context.Context, name string) ([]fs.DirEntry, error) { return s.p.Files.ReadDir("/", name) }),
		interp.StatHandler(func(_ context.Context, name string, follow bool) (fs.FileInfo, error) {
			return s.p.Files.Stat("/", name, follow)
		}),
		interp.AccessHandler(func(_ context.Context, name string, mode interp.AccessMode) error { return s.access(name, mode) }),
	)
	if err != nil {
		return nil, err
	}
	r.Dir = pr.dir
	r.Reset()
	env.ready = true
	return r, nil
}

// exported returns the exported variables as KEY=VALUE.
func exported(env expand.Environ) []string {
	var list []string
	env.Each(func(name string, v expand.Variable) bool {
		if v.IsSet() && v.Exported && v.Kind == expand.String {
			list = append(list, name+"="+v.Str)
		}
		return true
	})
	return list
}

// open opens a file of a redirection.
func (s *session) open(hc *interp.HandlerContext, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	resolved := name
	if !path.IsAbs(name) {
		resolved = path.Join(hc.Dir, name)
	}
	switch path.Clean(resolved) {
	case "/dev/stdout", "/proc/self/fd/1", "/proc/1/fd/1":
		return nopCloser{hc.Stdin, hc.Stdout}, nil
	case "/dev/stderr", "/proc/self/fd/2", "/proc/1/fd/2":
		return nopCloser{hc.Stdin, hc.Stderr}, nil
	case "/dev/stdin":
		return nopCloser{hc.Stdin, hc.Stdout}, nil
	}
	return s.p.Files.Open(hc.Dir, name, flag, perm)
}

// nopCloser is a stream that its user must not close.
type nopCloser struct {
	io.Reader
	io.Writer
}

func (nopCloser) Close() error { return nil }

// access reports whether a path can be read, written or executed.
func (s *session) access(name string, mode interp.AccessMode) error {
	info, err := s.p.Files.Stat("/", name, true)
	if err != nil {
		return err
	}
	if mode&interp.AccessWrite != 0 {
		if place, err := s.p.Files.resolve("/", name, true); err != nil || place.mount.ReadOnly {
			return fs.ErrPermission
		}
	}
	if mode&interp.AccessExec != 0 && info.Mode()&0o111 == 0 {
		return fs.ErrPermission
	}
	return nil
}

// call rewrites the builtins that would look at the host, and those that the interpreter does not have.
func (s *session) call(ctx context.Context, args []string) ([]string, error) {
	switch args[0] {
	case "exec":
		if len(args) > 1 {
			rest := args[1:]
			if rest[0] == "--" && len(rest) > 1 {
				rest = rest[1:]
			}
			return append([]string{"exec", execMark + rest[0]}, rest[1:]...), nil
		}
	case "pwd":
		return []string{"pwd"}, nil
	case "echo", "printf": // the interpreter's do not fail when the disk is full
		return append([]string{"/bin/" + args[0]}, args[1:]...), nil
	case "type", "hash":
		return append([]string{"which"}, args[1:]...), nil
	case "command":
		if len(args) > 1 && (args[1] == "-v" || args[1] == "-V") {
			return append([]string{"which"}, args[2:]...), nil
		}
	case "kill":
		return append([]string{"kill-process"}, args[1:]...), nil
	case "ulimit", "umask":
		return []string{"true"}, nil
	case "eval":
		if _, err := parse(strings.Join(args[1:], " "), "eval"); err != nil {
			hc := interp.HandlerCtx(ctx)
			fmt.Fprintf(hc.Stderr, "eval: %v\n", err)
			return []string{"false"}, nil
		}
	case "trap":
		return s.setTrap(args), nil
	}
	return args, nil
}

// setTrap notes a trap of signals, and returns the builtin call for those of the interpreter.
func (s *session) setTrap(args []string) []string {
	rest := args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) < 2 {
		return []string{"true"}
	}
	action := rest[0]
	kept := []string{"trap", "--", action}
	for _, name := range rest[1:] {
		switch strings.TrimPrefix(strings.ToUpper(name), "SIG") {
		case "EXIT", "0":
			kept = append(kept, "EXIT")
		case "ERR":
			kept = append(kept, "ERR")
		case "TERM", "15":
			s.p.mu.Lock()
			s.p.trap = &action
			if action == "-" {
				s.p.trap = nil
			}
			s.p.mu.Unlock()
		}
	}
	if len(kept) == 3 {
		return []string{"true"}
	}
	return kept
}

// runTrap interprets what a trap of SIGTERM does, with the variables of the shell that set it.
func (s *session) runTrap(ctx context.Context, text string) int {
	parsed, err := parse(text, "trap")
	if err != nil || s.runner == nil {
		return exitSignaled + sigterm
	}
	return exitCode(s.runner.Subshell().Run(ctx, parsed))
}

// exec runs a command that is no builtin of the interpreter.
func (s *session) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	replace := s.last[hc.Pos.Offset()]
	if name, ok := strings.CutPrefix(args[0], execMark); ok {
		args = append([]string{name}, args[1:]...)
		replace = true
	}
	pr := &process{session: s, dir: hc.Dir, env: hc.Env, stdin: hc.Stdin, stdout: hc.Stdout, stderr: hc.Stderr}
	if isNil(hc.Stdin) {
		pr.stdin = nil
	}
	inner := *s
	inner.top = s.top && replace
	pr.session = &inner
	code := pr.execute(ctx, args, inner.top)
	if err := ctx.Err(); err != nil {
		return err
	}
	if code != 0 {
		return interp.ExitStatus(code)
	}
	return nil
}

// interactive interprets statements as they come from the input.
func (pr *process) interactive(ctx context.Context, sc script) int {
	if pr.stdin == nil {
		return 0
	}
	input := pr.stdin
	outer := *pr
	outer.stdin = nil // what is read ahead is the shell's
	inner := &session{p: pr.p, top: false, last: map[uint]bool{}}
	sc.name = "sh"
	r, err := inner.newRunner(&outer, sc)
	if err != nil {
		return pr.fail("sh", err)
	}
	if t := pr.p.terminal; t != nil {
		t.prompt(prompt(r))
		defer t.prompt("")
	}
	code := 0
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for stmts, err := range parser.InteractiveSeq(bufio.NewReader(input)) {
		if err != nil {
			if ctx.Err() == nil {
				fmt.Fprintf(pr.stderr, "sh: %v\n", err)
				code = exitUsage
			}
			break
		}
		if parser.Incomplete() {
			if t := pr.p.terminal; t != nil {
				t.prompt("> ")
			}
			continue
		}
		for _, st := range stmts {
			if err := harmless(st); err != nil {
				fmt.Fprintf(pr.stderr, "sh: %v\n", err)
				code = exitUsage
				continue
			}
			code = exitCode(r.Run(ctx, st))
			if r.Exited() || ctx.Err() != nil {
				return code
			}
		}
		if t := pr.p.terminal; t != nil {
			t.prompt(prompt(r))
		}
	}
	return code
}

func prompt(r *interp.Runner) string { return r.Dir + " # " }

// isNil reports whether a stream is a nil pointer in an interface, as the interpreter gives it.
func isNil(r io.Reader) bool {
	f, ok := r.(*os.File)
	return r == nil || ok && f == nil
}
