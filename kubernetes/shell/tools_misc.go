package shell

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
)

func randomName() string { return rand.Text()[:6] }

// wait waits, or returns the context's error.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// interval parses a time such as 5, 0.5, 2m or inf.
func interval(s string) (time.Duration, error) {
	unit := time.Second
	for suffix, u := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = n, u
			break
		}
	}
	if s == "inf" || s == "infinity" {
		return 1<<63 - 1, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0) {
		return 0, fmt.Errorf("invalid number '%s'", s)
	}
	if f > float64(1<<62)/float64(unit) {
		return 1<<63 - 1, nil
	}
	return time.Duration(f * float64(unit)), nil
}

func sleep(ctx context.Context, pr *process, args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(pr.stderr, "sleep: a time is missing")
		return 1
	}
	var total time.Duration
	for _, a := range args[1:] {
		d, err := interval(a)
		if err != nil {
			return pr.fail("sleep", err)
		}
		if total += d; total < 0 {
			total = 1<<63 - 1
		}
	}
	if wait(ctx, total) != nil {
		return exitSignaled + sigterm
	}
	return 0
}

func timeout(ctx context.Context, pr *process, args []string) int {
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		if (rest[0] == "-s" || rest[0] == "-k" || rest[0] == "-t") && len(rest) > 1 {
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	if len(rest) < 2 {
		fmt.Fprintln(pr.stderr, "timeout: a time or a command is missing")
		return 125
	}
	d, err := interval(rest[0])
	if err != nil {
		pr.fail("timeout", err)
		return 125
	}
	inner, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	code := pr.execute(inner, rest[1:], false)
	if errors.Is(inner.Err(), context.DeadlineExceeded) {
		return 124
	}
	return code
}

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

// dateFormats are the letters of date as layouts of package time.
func dateFormat(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if format[i] == '-' && i+1 < len(format) {
			i++
		}
		layout := ""
		switch format[i] {
		case 'Y':
			layout = "2006"
		case 'y':
			layout = "06"
		case 'm':
			layout = "01"
		case 'd':
			layout = "02"
		case 'e':
			layout = "_2"
		case 'H':
			layout = "15"
		case 'I':
			layout = "03"
		case 'M':
			layout = "04"
		case 'S':
			layout = "05"
		case 'p':
			layout = "PM"
		case 'a':
			layout = "Mon"
		case 'A':
			layout = "Monday"
		case 'b', 'h':
			layout = "Jan"
		case 'B':
			layout = "January"
		case 'F':
			layout = "2006-01-02"
		case 'T':
			layout = "15:04:05"
		case 'R':
			layout = "15:04"
		case 'D':
			layout = "01/02/06"
		case 'Z':
			layout = "MST"
		case 'z':
			layout = "-0700"
		case 'j':
			fmt.Fprintf(&b, "%03d", t.YearDay())
		case 'u':
			fmt.Fprintf(&b, "%d", (int(t.Weekday())+6)%7+1)
		case 's':
			fmt.Fprintf(&b, "%d", t.Unix())
		case 'N':
			fmt.Fprintf(&b, "%09d", t.Nanosecond())
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '%':
			b.WriteByte('%')
		default:
			b.WriteString(format[i-1 : i+1])
		}
		if layout != "" {
			b.WriteString(t.Format(layout))
		}
	}
	return b.String()
}

func date(_ context.Context, pr *process, args []string) int {
	t := time.Now().UTC()
	format := "%a %b %e %H:%M:%S %Z %Y"
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasPrefix(a, "+"):
			format = a[1:]
		case a == "-u" || a == "--utc":
		case strings.HasPrefix(a, "-I") || strings.HasPrefix(a, "--iso-8601"):
			format = "%F"
			if strings.HasSuffix(a, "s") || strings.HasSuffix(a, "seconds") {
				format = "%FT%T%z"
			}
		case a == "-R":
			format = "%a, %d %b %Y %H:%M:%S %z"
		case a == "-d" && i+1 < len(args):
			i++
			switch d := args[i]; {
			case strings.HasPrefix(d, "@"):
				n, err := strconv.ParseInt(d[1:], 10, 64)
				if err != nil {
					return pr.fail("date", fmt.Errorf("invalid date '%s'", d))
				}
				t = time.Unix(n, 0).UTC()
			case d != "now":
				return pr.fail("date", fmt.Errorf("unsupported date '%s'", d))
			}
		default:
			return pr.fail("date", fmt.Errorf("unsupported option: %s", a))
		}
	}
	fmt.Fprintln(pr.stdout, dateFormat(t, format))
	return 0
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

// sed knows -n, -E, -i, -e, and the commands s, p, d and q with an address that is a line number, $ or a pattern.
func sed(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "nErsi", "e", map[string]byte{"quiet": 'n', "expression": 'e', "in-place": 'i', "regexp-extended": 'E'})
	if !ok {
		return 1
	}
	text, given := set['e']
	if !given {
		if len(operands) == 0 {
			fmt.Fprintln(pr.stderr, "sed: a script is missing")
			return 1
		}
		text, operands = operands[0], operands[1:]
	}
	edits, err := parseEdits(text, has(set, 'E') || has(set, 'r'))
	if err != nil {
		return pr.fail("sed", err)
	}
	edit := func(out io.Writer) func(string, io.Reader) error {
		return func(_ string, r io.Reader) error {
			n := 0
			err := lines(ctx, r, func(line []byte) error {
				n++
				return edits.apply(out, line, n, !has(set, 'n'))
			})
			if stopped(err) {
				return nil
			}
			return err
		}
	}
	if !has(set, 'i') {
		return pr.inputs("sed", operands, edit(pr.stdout))
	}
	code := 0
	for _, name := range operands {
		var held strings.Builder
		bounded := writerFunc(func(b []byte) (int, error) {
			if held.Len()+len(b) > holdBytes {
				return 0, errTooLong
			}
			return held.Write(b)
		})
		err := pr.input(name, edit(bounded))
		if err == nil {
			var f io.WriteCloser
			if f, err = pr.create(name, false); err == nil {
				_, err = io.WriteString(f, held.String())
				err = errors.Join(err, f.Close())
			}
		}
		if err != nil {
			code = pr.fail("sed", err)
		}
	}
	return code
}

// edit is one command of sed.
type edit struct {
	line        int
	pattern     *regexp.Regexp
	command     byte
	find        *regexp.Regexp
	replacement string
	all, print  bool
}

type edits []edit

func parseEdits(text string, extended bool) (edits, error) {
	compile := func(p string, flags string) (*regexp.Regexp, error) {
		if !extended {
			p = basicPattern(p)
		}
		if strings.ContainsAny(flags, "iI") {
			p = "(?i)" + p
		}
		return regexp.Compile(p)
	}
	var all edits
	for rest := strings.TrimLeft(text, " \t\n;"); rest != ""; rest = strings.TrimLeft(rest, " \t\n;") {
		var e edit
		if n := len(rest) - len(strings.TrimLeft(rest, "0123456789")); n > 0 {
			e.line, _ = strconv.Atoi(rest[:n])
			rest = rest[n:]
		} else if rest[0] == '/' {
			pattern, after, ok := delimited(rest[1:], '/')
			if !ok {
				return nil, fmt.Errorf("unterminated address: %s", text)
			}
			re, err := compile(pattern, "")
			if err != nil {
				return nil, err
			}
			e.pattern, rest = re, after
		}
		rest = strings.TrimLeft(rest, " ")
		if rest == "" {
			return nil, fmt.Errorf("missing command: %s", text)
		}
		e.command, rest = rest[0], rest[1:]
		switch e.command {
		case 'p', 'd', 'q':
		case 's':
			if rest == "" {
				return nil, fmt.Errorf("unterminated s command: %s", text)
			}
			separator := rest[0]
			pattern, after, ok := delimited(rest[1:], separator)
			replacement, flags, ok2 := delimited(after, separator)
			if !ok || !ok2 {
				return nil, fmt.Errorf("unterminated s command: %s", text)
			}
			n := len(flags) - len(strings.TrimLeft(flags, "gpiI"))
			re, err := compile(pattern, flags[:n])
			if err != nil {
				return nil, err
			}
			e.find, e.replacement = re, replacement
			e.all, e.print = strings.Contains(flags[:n], "g"), strings.Contains(flags[:n], "p")
			rest = flags[n:]
		default:
			return nil, fmt.Errorf("unsupported command '%c': %s", e.command, text)
		}
		all = append(all, e)
	}
	return all, nil
}

// delimited cuts a text at a separator that is not escaped.
func delimited(s string, separator byte) (before, after string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			if s[i+1] != separator {
				b.WriteByte('\\')
			}
			i++
			b.WriteByte(s[i])
		case s[i] == separator:
			return b.String(), s[i+1:], true
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

func (all edits) apply(out io.Writer, line []byte, n int, print bool) error {
	text := string(line)
	quit := false
	for _, e := range all {
		if e.line != 0 && e.line != n || e.pattern != nil && !e.pattern.MatchString(text) {
			continue
		}
		switch e.command {
		case 'd':
			return nil
		case 'q':
			quit = true
		case 'p':
			fmt.Fprintln(out, text)
		case 's':
			replaced := e.replace(text)
			if replaced != text && e.print {
				fmt.Fprintln(out, replaced)
			}
			text = replaced
		}
		if len(text) > lineBytes {
			return errTooLong
		}
	}
	if print {
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	if quit {
		return errStop
	}
	return nil
}

// replace replaces what the pattern finds: & is all of it, \1 a group.
func (e *edit) replace(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range e.find.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[at:m[0]])
		for i := 0; i < len(e.replacement) && b.Len() <= lineBytes; i++ {
			c := e.replacement[i]
			switch {
			case c == '&':
				b.WriteString(text[m[0]:m[1]])
			case c == '\\' && i+1 < len(e.replacement):
				i++
				if group := int(e.replacement[i] - '0'); group >= 0 && group <= 9 {
					if 2*group+1 < len(m) && m[2*group] >= 0 {
						b.WriteString(text[m[2*group]:m[2*group+1]])
					}
				} else if e.replacement[i] == 'n' {
					b.WriteByte('\n')
				} else {
					b.WriteByte(e.replacement[i])
				}
			default:
				b.WriteByte(c)
			}
		}
		at = m[1]
		if !e.all {
			break
		}
	}
	b.WriteString(text[at:])
	return b.String()
}
