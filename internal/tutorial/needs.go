package tutorial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
)

// Needs are what a page may require of a machine.
//
//	docker   docker or podman, answering
//	go       a Go toolchain
//	root     commands run as root
func Needs() []string { return []string{"docker", "go", "root"} }

// needs parses a list of needs, with commas or spaces.
func needs(value string) ([]string, error) {
	found := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	if len(found) == 0 {
		return nil, fmt.Errorf("what is needed is missing: one of %s", strings.Join(Needs(), ", "))
	}
	for _, n := range found {
		if slices.Contains(Needs(), n) {
			continue
		}
		guess := ""
		if near := nearest.Of(n, Needs()); near != "" {
			guess = fmt.Sprintf("did you mean %q? ", near)
		}
		return nil, fmt.Errorf("%q is nothing to be needed: %sthere are %s", n, guess, strings.Join(Needs(), ", "))
	}
	return found, nil
}

// machine checks whether this machine has what is needed in this home; nil means yes.
func (h *home) machine(ctx context.Context, need string) error {
	switch need {
	case "docker":
		docker := h.answers(ctx, "docker", "info")
		if docker == nil {
			return nil
		}
		podman := h.answers(ctx, "podman", "info")
		if podman == nil {
			return nil
		}
		return fmt.Errorf("%w; %w", docker, podman)
	case "go":
		return h.answers(ctx, "go", "version")
	case "root":
		uid := os.Geteuid()
		if h.as != nil {
			uid = int(h.as.Uid)
		}
		if uid != 0 {
			return fmt.Errorf("commands run as user %d", uid)
		}
		return nil
	}
	return fmt.Errorf("unknown requirement %q", need)
}

// answers runs a program as the reader would; nil means that it succeeds soon.
func (h *home) answers(ctx context.Context, name string, args ...string) error {
	const soon = 10 * time.Second
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("no %s here", name)
	}
	if err != nil {
		return err
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = h.clone, h.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.as}
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, first)
	}
	return nil
}

// needs reports whether any part of the page needs that.
func (p *Page) needs(need string) bool {
	for _, s := range p.Steps {
		if slices.Contains(s.Needs, need) || slices.ContainsFunc(s.Blocks, func(b Block) bool { return slices.Contains(b.Needs, need) }) {
			return true
		}
	}
	return false
}

// goVars are the settings of Go modules on this machine: the reader's home does not have them.
func goVars() []string {
	const soon = 10 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	names := []string{"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOFLAGS", "GOTOOLCHAIN"}
	out, err := exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...).Output()
	values := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(values) != len(names) {
		return nil // the step that needs it says so
	}
	for i, name := range names {
		values[i] = name + "=" + values[i]
	}
	return values
}
