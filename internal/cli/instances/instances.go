// Package instances shows commands the sandboxes of the state directory.
//
// Floor 5: package instance does the work.
package instances

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/printable"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
)

// Instances implements [command.Sandboxes] on a state directory, which RootFunc names; instance.Root is the usual one.
type Instances struct {
	RootFunc func() (string, error)
}

// Root returns the state directory. A missing home directory, an unusable directory, or one that other users can write to
// is an error of the host.
func (i Instances) Root() (string, error) {
	root, err := i.RootFunc()
	if err != nil {
		return "", &report.Error{
			Code: "no-home", Message: "there is no place for sandboxes", Err: err, Exit: report.Prerequisite,
			Try: "export " + instance.RootEnv + "=DIR   # a folder that you can write to",
		}
	}
	if err := instance.Check(root); err != nil {
		return "", report.State(err)
	}
	return root, nil
}

// List returns every sandbox below the state directory, by name.
func (i Instances) List(context.Context) ([]command.Sandbox, error) {
	root, err := i.Root()
	if err != nil {
		return nil, err
	}
	entries, err := instance.List(root)
	if err != nil {
		return nil, err
	}
	var list []command.Sandbox
	for _, e := range entries {
		dir, err := instance.Open(root, e.Name)
		if err != nil {
			continue // it ended a moment ago, or is in no state to be used
		}
		s := command.Sandbox{
			Name: e.Name, Dir: dir.Path(), Socket: dir.SocketPath(), Running: e.Running, Removed: e.Removed, Ended: endedAs(e), PID: e.PID,
			StartedAt: e.Record.StartedAt, Topology: e.Record.Topology,
		}
		if s.State() == command.Crashed {
			s.Crash = whyCrashed(dir.Log("sandbox"))
		}
		s.PID = cmp.Or(s.PID, e.Record.PID)
		list = append(list, s)
	}
	return list, nil
}

// endedAs is [command.Sandbox.Ended].
func endedAs(e instance.Entry) string {
	switch {
	case e.Record.Retained:
		return command.Retained
	case e.Record.Left:
		return command.Left
	}
	return ""
}

// Logs returns the log files of a sandbox by component: logs/node/worker-1.log is that of node/worker-1.
func (i Instances) Logs(name string) (map[string]string, error) {
	root, err := i.Root()
	if err != nil {
		return nil, err
	}
	dir, err := instance.Open(root, name)
	if err != nil {
		return nil, err
	}
	logs := map[string]string{}
	top := dir.Path("logs")
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") {
			return err
		}
		rel, err := filepath.Rel(top, path)
		logs[filepath.ToSlash(strings.TrimSuffix(rel, ".log"))] = path
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("logs: %w", err)
	}
	return logs, nil
}

// unreverted returns a dead sandbox's writes to real vCenters; after its directory is removed only "doctor" shows them.
func unreverted(root, name string) string {
	if all, err := leftovers.Unreverted(root); err == nil && all[name] > 0 {
		return "; " + leftovers.Message(name, all[name])
	}
	return ""
}

// ReapProcesses ends the processes of sandboxes that crashed, takes back what they left outside of their directories, and keeps the
// directories: each line says why one crashed, where its files are and how they are removed. It is silent about those that it
// settled before. One that ended in order, and could not remove everything then, is removed.
func (i Instances) ReapProcesses(ctx context.Context) ([]string, error) {
	return i.each(func(root string, e instance.Entry) (string, error) {
		if e.Record.ProcessesReaped {
			return "", nil
		}
		if err := leftovers.Sweep(ctx, root, e.Name, func(string) {}); err != nil {
			return "", err
		}
		if endedAs(e) == command.Left {
			if _, err := instance.Reap(ctx, root, e.Name); err != nil {
				return "", err
			}
			return fmt.Sprintf("sandbox %q had ended and left something behind: it is removed%s", e.Name, unreverted(root, e.Name)), nil
		}
		broken := leases(root, e.Name)
		r, err := instance.ReapProcesses(ctx, root, e.Name)
		if err != nil {
			return "", err
		}
		dir, err := instance.Open(root, e.Name)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("sandbox %q crashed: %s; %s%s%s; its logs, events and recording are kept in %s until \"%s down --name %[1]s\"",
			e.Name, whyCrashed(dir.Log("sandbox")).Reason, ended(r), broken, unreverted(root, e.Name), dir.Path(), command.Program), nil
	})
}

// Reap removes what dead sandboxes left behind, but for those that were asked to leave it: their logs go, too.
func (i Instances) Reap(ctx context.Context) ([]string, error) {
	return i.each(func(root string, e instance.Entry) (string, error) {
		broken := leases(root, e.Name)
		if err := leftovers.Sweep(ctx, root, e.Name, func(string) {}); err != nil {
			return "", err // its directory stays, which says what is left
		}
		r, err := instance.Reap(ctx, root, e.Name)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s (%s)%s%s", e.Name, ended(r), broken, unreverted(root, e.Name)), nil
	})
}

// each does something for every sandbox that does not run and was not asked to keep its files, and returns a line about
// each. One that fails does not keep it from the others; one that another process was faster with is passed over.
func (i Instances) each(do func(root string, e instance.Entry) (string, error)) ([]string, error) {
	root, err := i.Root()
	if err != nil {
		return nil, err
	}
	entries, err := instance.List(root)
	if err != nil {
		return nil, err
	}
	var lines []string
	var errs []error
	for _, e := range entries {
		if e.Running || e.Record.Retained {
			continue
		}
		line, err := do(root, e)
		switch {
		case errors.As(err, new(instance.ErrRunning)), errors.As(err, new(instance.ErrNotFound)):
		case err != nil:
			errs = append(errs, err)
		case line != "":
			lines = append(lines, line)
		}
	}
	return lines, errors.Join(errs...)
}

// ended says which processes were.
func ended(r instance.Report) string {
	line := fmt.Sprintf("%d processes ended", len(r.Killed))
	if len(r.Unproven) > 0 {
		line += fmt.Sprintf(", %d that are not certain to be its own left alone", len(r.Unproven))
	}
	return line
}

// leases returns the faults that were in force when a sandbox died, or "". Its vCenters and its cluster ended with it, so
// they need not be healed.
func leases(root, name string) string {
	dir, err := instance.Open(root, name)
	if err != nil {
		return ""
	}
	records, err := fault.ReadJournal(dir.Path("leases.jsonl"))
	if err != nil && len(records) == 0 {
		return ""
	}
	const many = 5
	var words []string
	for i, r := range records {
		if i == many {
			words = append(words, fmt.Sprintf("%d more", len(records)-many))
			break
		}
		words = append(words, r.Lease.ID+" "+r.Lease.Kind)
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return "; 1 fault ended with it: " + words[0]
	}
	return fmt.Sprintf("; %d faults ended with it: %s", len(records), strings.Join(words, ", "))
}

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

// ending returns the lines with which the Go runtime ended a process, if the log ends with them. It ignores the log
// before them, and panics that the process survived.
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
