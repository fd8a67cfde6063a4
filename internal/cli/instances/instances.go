// Package instances shows commands the sandboxes of the state directory.
//
// Floor 5: package instance does the work.
package instances

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/leftovers"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
)

// Instances implements [command.Sandboxes] on a state directory, which RootFunc names; instance.Root is the usual one.
type Instances struct {
	RootFunc func() (string, error)
}

// Root is the state directory. That there is none, for want of a home directory, is something that this machine lacks; so is
// one that cannot be used, or that other users can write to.
func (i Instances) Root() (string, error) {
	root, err := i.RootFunc()
	if err != nil {
		return "", &report.Error{
			Code: "no-home", Message: "there is no place for sandboxes", Err: err, Exit: report.Prerequisite,
			Try: "export " + instance.RootEnv + "=DIR   # a folder that you may write",
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
			Name: e.Name, Dir: dir.Path(), Socket: dir.SocketPath(), Running: e.Running, PID: e.PID,
			StartedAt: e.Record.StartedAt, Scenario: e.Record.Scenario,
		}
		if s.PID == 0 {
			s.PID = e.Record.PID
		}
		list = append(list, s)
	}
	return list, nil
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

// unreverted tells of writes to real vCenters, of which nothing will tell once the directory is gone but "doctor".
func unreverted(root, name string) string {
	if all, err := leftovers.Unreverted(root); err == nil && all[name] > 0 {
		return "; " + leftovers.Words(name, all[name])
	}
	return ""
}

// Reap removes what dead sandboxes left behind, but for those that were asked to leave it. Their logs go, too: each line
// has the last words of one.
func (i Instances) Reap(ctx context.Context) ([]string, error) {
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
		last, broken := lastWords(root, e.Name), leases(root, e.Name)
		if err := leftovers.Sweep(ctx, root, e.Name, func(string) {}); err != nil {
			errs = append(errs, err) // its directory stays, which says what is left
			continue
		}
		r, err := instance.Reap(ctx, root, e.Name)
		var running instance.ErrRunning
		var gone instance.ErrNotFound
		if errors.As(err, &running) || errors.As(err, &gone) {
			continue // somebody else was faster
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		line := fmt.Sprintf("%s (%d processes ended)", e.Name, len(r.Killed))
		if len(r.Spared) > 0 {
			line += fmt.Sprintf("; %d processes are not certain to be its own and were left alone", len(r.Spared))
		}
		line += broken + unreverted(root, e.Name)
		if last != "" {
			line += "; its log ends with: " + last
		}
		lines = append(lines, line)
	}
	return lines, errors.Join(errs...)
}
