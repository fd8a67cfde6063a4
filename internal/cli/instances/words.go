package instances

import (
	"bufio"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
)

const (
	tailBytes  = 8 << 20 // how much of a log is read: more than the stacks of thousands of goroutines take
	mostLines  = 4       // of a reason
	mostFrames = 5       // of a stack
	mostWords  = 200     // characters of a line
	mostStacks = 1000    // lines after a reason among which its goroutine is looked for
)

// killed is the reason of a sandbox whose log does not have one: nothing in it could write a line any more.
const killed = "killed: its log ends without a reason, as after kill -9 or when memory runs out"

// whyCrashed reads from a sandbox's own log what ended it.
func whyCrashed(log string) *command.Crash {
	end := ending(log)
	if len(end) == 0 {
		return &command.Crash{Reason: killed}
	}
	c := &command.Crash{Reason: clean(end[0])}
	lines := 1
	for _, line := range end[1:] {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "PC=") || lines == mostLines {
			break
		}
		c.Reason += "; " + strings.TrimSpace(clean(line))
		lines++
	}
	c.Stack = frames(end)
	return c
}

// ending returns the lines with which the runtime of Go ended a process; none where the log does not end with such. What
// comes before in the log, and what it went on after, is no end.
func ending(log string) []string {
	f, err := os.Open(log)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return nil
		}
	}
	begins := regexp.MustCompile(`^(panic: |fatal error: |SIG[A-Z0-9]+: )`)
	var end []string
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "time="):
			end = nil // it was survived
		case len(end) > 0 && len(end) < mostStacks || len(end) == 0 && begins.MatchString(line):
			end = append(end, line)
		}
		if err != nil {
			return end
		}
	}
}

// frames returns the top frames of the first goroutine, without those of the runtime. Goroutine 0 is the
// scheduler's and only counts where there is no other.
func frames(end []string) []string {
	var found []string
	within, usable := false, false
	for i, line := range end {
		switch {
		case strings.HasPrefix(line, "goroutine "):
			if usable {
				return found
			}
			within, usable = true, !strings.HasPrefix(line, "goroutine 0 ")
			if usable {
				found = nil
			}
		case strings.TrimSpace(line) == "":
			within = false
		case !within || len(found) == mostFrames || i+1 == len(end):
		case strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "created by "), strings.HasPrefix(line, "panic("), strings.HasPrefix(line, "runtime."):
		default:
			name := line
			if at := strings.LastIndexByte(line, '('); at > 0 {
				name = line[:at]
			}
			where, _, _ := strings.Cut(strings.TrimSpace(end[i+1]), " ")
			found = append(found, clean(name+" ("+where+")"))
		}
	}
	return found
}

// clean makes a line of a log one that can be printed.
func clean(line string) string {
	printed := []rune(printable.Line(line))
	return string(printed[:min(len(printed), mostWords)])
}
