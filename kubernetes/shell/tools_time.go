package shell

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
