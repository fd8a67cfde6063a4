package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Codes of a [coded.Error] of this package.
const (
	CodeUsage    = "usage"
	CodeUnknown  = "kubernetes-version-unknown"
	CodeMissing  = "kubernetes-missing"
	CodeUnusable = "kubernetes-unusable"
	CodeBuild    = "kubernetes-build-failed"
	CodeGo       = "go-missing"
	CodeRefused  = "kubernetes-flag-refused"
)

// Name is the name of the program's file.
const Name = "vsphere-sandbox-kubernetes"

// Env is the environment variable that names the file of the default release's program.
const Env = "VSPHERE_SANDBOX_KUBERNETES"

// Program is a Kubernetes program that has answered the handshake.
type Program struct {
	Path string `json:"path"`
	contract.Info
}

// handshakeTime limits the handshake. It takes 70 ms; a host with a load of many times its CPUs takes longer.
const handshakeTime = 30 * time.Second

// Open runs the program at a path for the handshake. A program of another contract or machine, and any other file, is a
// [coded.Error] with CodeUnusable.
func Open(ctx context.Context, path string) (Program, error) {
	limited, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	p := Program{Path: path}
	cmd := exec.CommandContext(limited, path, strings.Fields(contract.VersionCommand)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return p, context.Cause(ctx)
	}
	switch exit, ran := errors.AsType[*exec.ExitError](err); {
	case errors.Is(err, syscall.ENOEXEC):
		return p, unusable(path, nil, "is not a program of this machine (%s/%s)", runtime.GOOS, runtime.GOARCH)
	case ran:
		return p, unusable(path, err, "is not a Kubernetes program of a sandbox: %s", shorten.LastLines(string(exit.Stderr), 2))
	case err != nil:
		return p, unusable(path, err, "cannot be run")
	}
	if err := json.Unmarshal(out, &p.Info); err != nil || p.Kubernetes == "" {
		return p, unusable(path, err, "is not a Kubernetes program of a sandbox")
	}
	if p.Contract != contract.Version {
		return p, unusable("", &contract.OtherVersionError{What: path, Contract: p.Contract}, "the Kubernetes program is of another release of vsphere-sandbox")
	}
	return p, nil
}

// Check asks the program whether its components take the knobs. What they refuse is a [coded.Error] with CodeRefused.
func (p Program) Check(ctx context.Context, k contract.Knobs) error {
	dir, err := os.MkdirTemp("", "vsphere-sandbox-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "knobs.json")
	if err := k.Write(config); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Path, contract.CheckCommand, "--config="+config)
	cmd.WaitDelay = time.Second
	_, err = cmd.Output()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		_, text, _ := strings.Cut("\n"+strings.TrimSpace(string(exit.Stderr)), "\nerror: ") // before it are warnings of components
		return coded.New(CodeRefused, "leave these flags out, or give what this release takes", nil, "Kubernetes %s: %s", p.Kubernetes, text)
	}
	return err
}

func unusable(path string, err error, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	return coded.New(CodeUnusable, "make build   # makes both programs of one release; "+Env+" names the second if it is elsewhere", err, "%s", text)
}
