package shell

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"  //nolint:gosec // md5sum
	"crypto/sha1" //nolint:gosec // sha1sum
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
)

const (
	// lineBytes is the longest line that a tool reads; what is longer is several lines.
	lineBytes = 1 << 20
	// holdBytes is the most that a tool that needs its whole input keeps: sort and tail.
	holdBytes = 16 << 20
)

var errTooLong = errors.New("input is too long")

// lines calls do with each line, without its end.
func lines(ctx context.Context, r io.Reader, do func(line []byte) error) error {
	if r == nil {
		return nil
	}
	in := bufio.NewReaderSize(r, chunk)
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(line) < lineBytes:
			continue
		case errors.Is(err, io.EOF):
			if len(line) > 0 {
				return do(line)
			}
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
		if err := moved(ctx, len(line)); err != nil {
			return err
		}
		if err := do(bytes.TrimSuffix(line, []byte("\n"))); err != nil {
			return err
		}
		line = line[:0]
	}
}

func echo(_ context.Context, pr *process, args []string) int {
	end, escapes, rest := "\n", true, args[1:]
	for ; len(rest) > 0; rest = rest[1:] {
		switch rest[0] {
		case "-n":
			end = ""
			continue
		case "-e", "-E":
			escapes = rest[0] == "-e"
			continue
		}
		break
	}
	text := strings.Join(rest, " ")
	if escapes {
		text = escaped(rest)
	}
	return pr.print("echo", text+end)
}

// escaped joins words in which a backslash begins an escape. Each call has its own configuration: without one, the interpreter's
// package takes one that all programs share, with its buffer.
func escaped(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i], _, _ = expand.Format(&expand.Config{}, w, nil)
	}
	return strings.Join(out, " ")
}

func printf(ctx context.Context, pr *process, args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(pr.stderr, "usage: printf format [arguments]")
		return exitUsage
	}
	format, rest := args[1], args[2:]
	for {
		text, used, err := expand.Format(&expand.Config{}, format, rest)
		if err != nil {
			return pr.fail("printf", err)
		}
		if err := moved(ctx, len(text)); err != nil {
			return exitSignaled + sigterm
		}
		if code := pr.print("printf", text); code != 0 {
			return code
		}
		if rest = rest[used:]; used == 0 || len(rest) == 0 {
			return 0
		}
	}
}

// print writes the output of a tool.
func (pr *process) print(tool, text string) int {
	if _, err := io.WriteString(pr.stdout, text); err != nil {
		return pr.fail(tool, named("write error", err))
	}
	return 0
}

func cat(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "nuvetAE", "", nil)
	if !ok {
		return 1
	}
	n := 0
	return pr.inputs("cat", operands, func(_ string, r io.Reader) error {
		if !has(set, 'n') {
			err := copyAll(ctx, pr.stdout, r)
			return err
		}
		return lines(ctx, r, func(line []byte) error {
			n++
			_, err := fmt.Fprintf(pr.stdout, "%6d\t%s\n", n, line)
			return err
		})
	})
}

// count parses a number such as 10, 5k or 1M.
func count(s string) (int64, error) {
	unit := int64(1)
	for suffix, factor := range map[string]int64{
		"c": 1, "w": 2, "b": 512, "kB": 1000, "k": 1 << 10, "K": 1 << 10, "KB": 1000, "MB": 1000000, "M": 1 << 20, "m": 1 << 20, "GB": 1000000000, "G": 1 << 30, "g": 1 << 30,
	} {
		if n, ok := strings.CutSuffix(s, suffix); ok && n != "" && n[len(n)-1] >= '0' && n[len(n)-1] <= '9' {
			s, unit = n, factor
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return 0, fmt.Errorf("invalid number '%s'", s)
	}
	return n * unit, nil
}

// short turns the historic -5 of head and tail into -n 5.
func short(args []string) []string {
	var out []string
	for i, a := range args {
		if _, err := strconv.ParseUint(strings.TrimPrefix(a, "-"), 10, 31); i == 1 && err == nil && strings.HasPrefix(a, "-") {
			out = append(out, "-n", a[1:])
			continue
		}
		out = append(out, a)
	}
	return out
}

func head(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(short(args), "qv", "nc", map[string]byte{"lines": 'n', "bytes": 'c'})
	if !ok {
		return 1
	}
	limit := int64(10)
	for _, letter := range []byte{'n', 'c'} {
		if v, ok := set[letter]; ok {
			n, err := count(v)
			if err != nil {
				return pr.fail("head", err)
			}
			limit = n
		}
	}
	return pr.inputs("head", operands, func(_ string, r io.Reader) error {
		if has(set, 'c') {
			err := copyAll(ctx, pr.stdout, io.LimitReader(r, limit))
			return err
		}
		left := limit
		if left == 0 {
			return nil
		}
		err := lines(ctx, r, func(line []byte) error {
			if _, err := pr.stdout.Write(append(line, '\n')); err != nil {
				return err
			}
			if left--; left == 0 {
				return errStop
			}
			return nil
		})
		if errors.Is(err, errStop) {
			return nil
		}
		return err
	})
}

// followEvery is how often tail -f looks at its file.
const followEvery = 200 * time.Millisecond

func tail(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(short(args), "fFqv", "ncs", map[string]byte{"lines": 'n', "bytes": 'c', "follow": 'f', "retry": 'F'})
	if !ok {
		return 1
	}
	limit, from := int64(10), false
	for _, letter := range []byte{'n', 'c'} {
		if v, ok := set[letter]; ok {
			v, from = strings.CutPrefix(v, "+")
			n, err := count(strings.TrimPrefix(v, "-"))
			if err != nil {
				return pr.fail("tail", err)
			}
			limit = n
		}
	}
	follow := has(set, 'f') || has(set, 'F')
	code := pr.inputs("tail", operands, func(name string, r io.Reader) error {
		if name == "/dev/null" && follow {
			<-ctx.Done()
			return nil
		}
		if err := pr.last(ctx, r, limit, from, has(set, 'c')); err != nil {
			return err
		}
		for follow && name != "-" {
			if err := wait(ctx, followEvery); err != nil {
				return nil //nolint:nilerr // the shell ends
			}
			if err := copyAll(ctx, pr.stdout, r); err != nil {
				return err
			}
		}
		return nil
	})
	return code
}

// last prints the last lines or bytes of an input, or those from a number on.
func (pr *process) last(ctx context.Context, r io.Reader, limit int64, from, inBytes bool) error {
	if from {
		if inBytes {
			if _, err := io.CopyN(io.Discard, r, max(0, limit-1)); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			err := copyAll(ctx, pr.stdout, r)
			return err
		}
		n := int64(0)
		return lines(ctx, r, func(line []byte) error {
			if n++; n < limit {
				return nil
			}
			_, err := pr.stdout.Write(append(line, '\n'))
			return err
		})
	}
	var kept bytes.Buffer
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		kept.Write(buf[:n])
		if err := moved(ctx, n); err != nil {
			return err
		}
		if kept.Len() > 2*holdBytes {
			kept.Next(kept.Len() - holdBytes)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	b := kept.Bytes()
	if inBytes {
		_, err := pr.stdout.Write(b[max(0, int64(len(b))-limit):])
		return err
	}
	at := len(bytes.TrimSuffix(b, []byte("\n")))
	for range limit {
		if at = bytes.LastIndexByte(b[:at], '\n'); at < 0 {
			break
		}
	}
	if limit == 0 {
		return nil
	}
	_, err := pr.stdout.Write(b[at+1:])
	return err
}

func wc(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "lwcm", "", map[string]byte{"lines": 'l', "words": 'w', "bytes": 'c', "chars": 'm'})
	if !ok {
		return 1
	}
	all := !has(set, 'l') && !has(set, 'w') && !has(set, 'c') && !has(set, 'm')
	print := func(n [3]int64, name string) {
		var fields []string
		for i, letters := range []string{"l", "w", "cm"} {
			if all || strings.ContainsFunc(letters, func(c rune) bool { return has(set, byte(c)) }) {
				fields = append(fields, strconv.FormatInt(n[i], 10))
			}
		}
		if name != "-" {
			fields = append(fields, name)
		}
		fmt.Fprintln(pr.stdout, strings.Join(fields, " "))
	}
	var total [3]int64
	code := pr.inputs("wc", operands, func(name string, r io.Reader) error {
		var n [3]int64
		word := false
		err := copyAll(ctx, writerFunc(func(b []byte) (int, error) {
			n[2] += int64(len(b))
			for _, c := range b {
				if c == '\n' {
					n[0]++
				}
				space := c == ' ' || c >= '\t' && c <= '\r'
				if word && space {
					n[1]++
				}
				word = !space
			}
			return len(b), nil
		}), r)
		if word {
			n[1]++
		}
		for i := range n {
			total[i] += n[i]
		}
		print(n, name)
		return err
	})
	if len(operands) > 1 {
		print(total, "total")
	}
	return code
}

// writerFunc is a function as a writer.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func checksum(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "cbs", "", map[string]byte{"check": 'c', "status": 's'})
	if !ok {
		return 1
	}
	sum := func(r io.Reader) (string, error) {
		var h hash.Hash
		switch args[0] {
		case "md5sum":
			h = md5.New() //nolint:gosec // as above
		case "sha1sum":
			h = sha1.New() //nolint:gosec // as above
		default:
			h = sha256.New()
		}
		err := copyAll(ctx, h, r)
		return fmt.Sprintf("%x", h.Sum(nil)), err
	}
	if !has(set, 'c') {
		return pr.inputs(args[0], operands, func(name string, r io.Reader) error {
			text, err := sum(r)
			if err == nil {
				fmt.Fprintf(pr.stdout, "%s  %s\n", text, name)
			}
			return err
		})
	}
	failed := false
	code := pr.inputs(args[0], operands, func(_ string, r io.Reader) error {
		return lines(ctx, r, func(line []byte) error {
			want, name, ok := strings.Cut(string(line), "  ")
			if !ok {
				return nil
			}
			var got string
			err := pr.input(name, func(_ string, r io.Reader) (err error) {
				got, err = sum(r)
				return err
			})
			verdict := "OK"
			if err != nil || got != want {
				verdict, failed = "FAILED", true
			}
			if !has(set, 's') {
				fmt.Fprintf(pr.stdout, "%s: %s\n", name, verdict)
			}
			return nil
		})
	})
	if failed {
		return 1
	}
	return code
}

func sortLines(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "nrucd", "kt", nil)
	if !ok {
		return 1
	}
	var all []string
	size := 0
	code := pr.inputs(args[0], operands, func(_ string, r io.Reader) error {
		return lines(ctx, r, func(line []byte) error {
			if size += len(line) + 16; size > holdBytes {
				return errTooLong
			}
			all = append(all, string(line))
			return nil
		})
	})
	if args[0] == "sort" {
		key := func(s string) string { return s }
		if k, ok := set['k']; ok {
			n, _ := strconv.Atoi(strings.SplitN(k, ",", 2)[0])
			key = func(s string) string {
				f := strings.Fields(s)
				if sep := set['t']; sep != "" {
					f = strings.Split(s, sep)
				}
				if n < 1 || n > len(f) {
					return ""
				}
				return f[n-1]
			}
		}
		slices.SortStableFunc(all, func(a, b string) int {
			order := strings.Compare(key(a), key(b))
			if has(set, 'n') {
				x, _ := strconv.ParseFloat(strings.TrimSpace(key(a)), 64)
				y, _ := strconv.ParseFloat(strings.TrimSpace(key(b)), 64)
				if x != y {
					order = map[bool]int{true: -1, false: 1}[x < y]
				}
			}
			if has(set, 'r') {
				return -order
			}
			return order
		})
		if !has(set, 'u') {
			for _, line := range all {
				fmt.Fprintln(pr.stdout, line)
			}
			return code
		}
	}
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n] == all[i] {
			n++
		}
		switch {
		case has(set, 'd') && n-i == 1:
		case has(set, 'c'):
			fmt.Fprintf(pr.stdout, "%7d %s\n", n-i, all[i])
		default:
			fmt.Fprintln(pr.stdout, all[i])
		}
		i = n
	}
	return code
}

// ranges parses a list of fields such as 1,3-5,7-.
func ranges(list string) (func(n int) bool, error) {
	type span struct{ from, to int }
	var spans []span
	for part := range strings.SplitSeq(list, ",") {
		a, b, dash := strings.Cut(part, "-")
		from, to := 1, 1<<30
		var err error
		if a != "" {
			if from, err = strconv.Atoi(a); err != nil {
				return nil, fmt.Errorf("invalid list '%s'", list)
			}
		}
		if !dash {
			to = from
		} else if b != "" {
			if to, err = strconv.Atoi(b); err != nil {
				return nil, fmt.Errorf("invalid list '%s'", list)
			}
		}
		spans = append(spans, span{from, to})
	}
	return func(n int) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return n >= s.from && n <= s.to })
	}, nil
}

func cut(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "s", "dfcb", nil)
	if !ok {
		return 1
	}
	list, delimiter := set['f'], "\t"
	chars := false
	if d, ok := set['d']; ok {
		delimiter = d
	}
	for _, letter := range []byte{'c', 'b'} {
		if v, ok := set[letter]; ok {
			list, chars = v, true
		}
	}
	in, err := ranges(list)
	if err != nil {
		return pr.fail("cut", err)
	}
	return pr.inputs("cut", operands, func(_ string, r io.Reader) error {
		return lines(ctx, r, func(line []byte) error {
			var kept []string
			if chars {
				delimiter = ""
				for i, c := range line {
					if in(i + 1) {
						kept = append(kept, string([]byte{c}))
					}
				}
			} else {
				fields := strings.Split(string(line), delimiter)
				if len(fields) == 1 {
					if has(set, 's') {
						return nil
					}
					kept = fields
				} else {
					for i, f := range fields {
						if in(i + 1) {
							kept = append(kept, f)
						}
					}
				}
			}
			_, err := fmt.Fprintln(pr.stdout, strings.Join(kept, delimiter))
			return err
		})
	})
}

// charSet returns the characters of a set of tr.
func charSet(s string) []byte {
	for name, chars := range map[string]string{
		"[:upper:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "[:lower:]": "abcdefghijklmnopqrstuvwxyz", "[:digit:]": "0123456789", "[:space:]": " \t\n\v\f\r",
		"[:alpha:]": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "[:alnum:]": "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
	} {
		s = strings.ReplaceAll(s, name, chars)
	}
	s = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", `\0`, "\x00", `\\`, `\`).Replace(s)
	var set []byte
	for i := 0; i < len(s); i++ {
		if i+2 < len(s) && s[i+1] == '-' && s[i+2] >= s[i] {
			for c := int(s[i]); c <= int(s[i+2]); c++ {
				set = append(set, byte(c))
			}
			i += 2
			continue
		}
		set = append(set, s[i])
	}
	return set
}

func tr(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "dscC", "", nil)
	if !ok || len(operands) == 0 {
		return 1
	}
	from := charSet(operands[0])
	var to []byte
	if len(operands) > 1 {
		to = charSet(operands[1])
	}
	in := func(c byte) bool {
		return bytes.IndexByte(from, c) >= 0 != (has(set, 'c') || has(set, 'C'))
	}
	last := -1
	err := copyAll(ctx, writerFunc(func(b []byte) (int, error) {
		out := make([]byte, 0, len(b))
		for _, c := range b {
			hit := in(c)
			if hit && has(set, 'd') {
				continue
			}
			if hit && len(to) > 0 {
				i := bytes.IndexByte(from, c)
				if i < 0 || i >= len(to) {
					i = len(to) - 1
				}
				c = to[i]
			}
			if has(set, 's') && hit && last == int(c) {
				continue
			}
			last = int(c)
			out = append(out, c)
		}
		if _, err := pr.stdout.Write(out); err != nil {
			return 0, err
		}
		return len(b), nil
	}), pr.stdin)
	if err != nil {
		return pr.fail("tr", err)
	}
	return 0
}

func tee(ctx context.Context, pr *process, args []string) int {
	set, operands, ok := pr.options(args, "ai", "", nil)
	if !ok {
		return 1
	}
	writers := []io.Writer{pr.stdout}
	code := 0
	for _, name := range operands {
		f, err := pr.create(name, has(set, 'a'))
		if err != nil {
			code = pr.fail("tee", err)
			continue
		}
		defer f.Close()
		writers = append(writers, f)
	}
	if err := copyAll(ctx, io.MultiWriter(writers...), pr.stdin); err != nil {
		return pr.fail("tee", err)
	}
	return code
}
