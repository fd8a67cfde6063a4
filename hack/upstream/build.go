package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// build makes the binary of a release. What it writes is complete or not there.
func build(ctx context.Context, version, binary string) (err error) {
	source, err := download(ctx, version)
	if err != nil {
		return err
	}
	// The module cache is read-only, and a module that replaces others can only be built as the main module.
	work, err := os.MkdirTemp("", "upstream-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := copyTree(work, source); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return err
	}
	unfinished := binary + fmt.Sprintf(".%d", os.Getpid())
	defer func() { _ = os.Remove(unfinished) }() // gone when all went well
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", unfinished, command)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "PWD="+work)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s@%s: build: %w", module, version, err)
	}
	return os.Rename(unfinished, binary)
}

// download returns where the module's files are, after they have been verified.
func download(ctx context.Context, version string) (dir string, err error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = os.TempDir() // in no module
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+cmd.Dir)
	want := pinned(version)
	if want != "" {
		// Verified here. A mirror need not serve the checksum database.
		cmd.Env = append(cmd.Env, "GONOSUMDB="+module)
	}
	out, runErr := cmd.Output()
	var m struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", fmt.Errorf("%s@%s: download: %w", module, version, errors.Join(runErr, err))
	}
	switch {
	case m.Error != "":
		return "", errors.New(m.Error)
	case want != "" && m.Sum != want:
		return "", fmt.Errorf("%s@%s: its checksum is %s, want %s: this is not what was released", module, version, m.Sum, want)
	}
	return m.Dir, runErr
}

// copyTree copies a folder into one that exists, with permissions to write.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}
