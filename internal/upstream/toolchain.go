package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Toolchain builds. The zero value does, for this machine.
type Toolchain struct {
	// Go is its command. Default: "go", looked for in $PATH.
	Go string
	// OS and Arch are what programs are built for. Default: this machine's.
	OS, Arch string
	// Progress is called with each step. It must not block. Optional.
	Progress func(format string, args ...any)
	// Line is called with each line that a build prints: with -v, one for each package that it compiles. Optional.
	Line func(line string)
}

func (t Toolchain) withDefaults() Toolchain {
	t.Go = cmp.Or(t.Go, "go")
	t.OS = cmp.Or(t.OS, runtime.GOOS)
	t.Arch = cmp.Or(t.Arch, runtime.GOARCH)
	if t.Progress == nil {
		t.Progress = func(string, ...any) {}
	}
	return t
}

// Program is a program of a module.
type Program struct {
	// Package is where its main function is, in the module: "./cmd/p".
	Package string
	// Path is where the program goes; folders are made.
	Path string
	// Linker are the linker's flags. Default: "-s -w".
	Linker string
	// Test builds the tests of the package, a program, in place of its main function.
	Test bool
	// Env is set beside the environment and CGO_ENABLED=0: "GOEXPERIMENT=boringcrypto".
	Env []string
}

// Build makes programs of a module, which may take minutes. Each is complete or not there. Errors are of type [*coded.Error]
// where the module or the toolchain is the reason.
func (t Toolchain) Build(ctx context.Context, m Module, programs ...Program) (err error) {
	t = t.withDefaults()
	if _, err := exec.LookPath(t.Go); err != nil {
		return coded.New(GoMissing, "", nil, "there is no Go toolchain to build it with: %q is not in $PATH", t.Go)
	}
	t.Progress("go mod download %s", m)
	source, err := t.download(ctx, m)
	if err != nil {
		return err
	}
	// The module cache is read-only, and a module that replaces others can only be built as the main module.
	work, err := os.MkdirTemp("", "upstream-")
	if err != nil {
		return err
	}
	defer func() {
		if left := os.RemoveAll(work); err == nil {
			err = left
		}
	}()
	if err := os.CopyFS(work, os.DirFS(source)); err != nil {
		return err
	}
	for _, p := range programs {
		if err := t.build(ctx, m, p, work); err != nil {
			return err
		}
	}
	return nil
}

// Read returns a file of a module, by its path in it. Errors are of type [*coded.Error] where the module or the toolchain is the
// reason; one of a file that the module does not have is an fs.ErrNotExist.
func (t Toolchain) Read(ctx context.Context, m Module, name string) ([]byte, error) {
	source, err := t.Dir(ctx, m)
	if err != nil {
		return nil, err
	}
	return fs.ReadFile(os.DirFS(source), name)
}

// Dir returns the folder of the module cache that a module is in; it is downloaded if it is not there. Errors are as those of
// Read.
func (t Toolchain) Dir(ctx context.Context, m Module) (string, error) {
	t = t.withDefaults()
	if _, err := exec.LookPath(t.Go); err != nil {
		return "", coded.New(GoMissing, "", nil, "there is no Go toolchain to fetch it with: %q is not in $PATH", t.Go)
	}
	t.Progress("go mod download %s", m)
	return t.download(ctx, m)
}

// BuildFolder makes a program of a module that is in a folder, with its go.mod as it is and these flags of go build. The
// program is complete or not there. Errors are as those of Build.
func (t Toolchain) BuildFolder(ctx context.Context, dir string, p Program, flags ...string) error {
	t = t.withDefaults()
	if _, err := exec.LookPath(t.Go); err != nil {
		return coded.New(GoMissing, "", nil, "there is no Go toolchain to build it with: %q is not in $PATH", t.Go)
	}
	return t.build(ctx, dir, p, dir, flags...)
}

func (t Toolchain) build(ctx context.Context, what any, p Program, work string, flags ...string) error {
	if err := os.MkdirAll(filepath.Dir(p.Path), 0o755); err != nil {
		return err
	}
	unfinished := fmt.Sprintf("%s.%d", p.Path, os.Getpid())
	defer func() { _ = os.Remove(unfinished) }() // gone when all went well
	command := []string{"build"}
	if p.Test {
		command = []string{"test", "-c", "-vet=off"}
	}
	args := append(append(command, "-buildvcs=false", "-ldflags", cmp.Or(p.Linker, "-s -w")), flags...)
	cmd := t.command(ctx, work, append(args, "-o", unfinished, p.Package)...)
	env := append([]string{"CGO_ENABLED=0"}, p.Env...)
	cmd.Env = append(append(cmd.Env, "GOFLAGS=", "GOOS="+t.OS, "GOARCH="+t.Arch), env...)
	var said bytes.Buffer
	out := io.Writer(&said)
	if t.Line != nil {
		lines := &lineWriter{report: t.Line}
		out = io.MultiWriter(out, lines)
	}
	cmd.Stdout, cmd.Stderr = out, out
	t.Progress("in a copy of %s: %s go %s -ldflags '-s -w' -o %s %s (the first time some minutes)", what, strings.Join(env, " "), strings.Join(command, " "), p.Path, p.Package)
	if err := cmd.Run(); err != nil {
		return &coded.Error{Code: BuildFailed, Message: "go " + command[0] + ": " + shorten.LastLines(said.String(), 5), Err: err}
	}
	return os.Rename(unfinished, p.Path)
}

// lineWriter reports each complete line that is written.
type lineWriter struct {
	report func(line string)
	rest   []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		w.report(string(line))
		w.rest = rest
	}
}

// Versions lists the versions of a module that there are; none when the module proxy does not tell.
func (t Toolchain) Versions(ctx context.Context, module string) []string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	t = t.withDefaults()
	out, err := t.command(ctx, os.TempDir(), "list", "-m", "-versions", module).Output()
	if err != nil {
		return nil
	}
	words := strings.Fields(string(out)) // the module's name first, then versions in their order
	return words[min(1, len(words)):]
}

// command is the Go toolchain at work in a folder. When ctx ends it is asked to end, as Ctrl-C does, so that it ends its
// compilers.
func (t Toolchain) command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.Go, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "PWD="+dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// Module is a release of a Go module.
type Module struct {
	// Path is its import path, Version its version ("v1.2.3").
	Path, Version string
	// Sum is its checksum as go.sum has it. Empty: not known here, which is left to Go's checksum database.
	Sum string
}

// String is "path@version".
func (m Module) String() string { return m.Path + "@" + m.Version }

// environment is what is added to the environment of the Go command. A module whose checksum is known is verified here: a mirror
// need not serve the checksum database.
func (m Module) environment() []string {
	if m.Sum == "" {
		return nil
	}
	return []string{"GONOSUMDB=" + path.Clean(m.Path)}
}

// download returns where the module's files are, after they have been verified.
func (t Toolchain) download(ctx context.Context, m Module) (dir string, err error) {
	cmd := t.command(ctx, os.TempDir(), "mod", "download", "-json", m.String()) // in no module
	cmd.Env = append(cmd.Env, m.environment()...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, runErr := cmd.Output()
	var is struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out, &is); err != nil {
		return "", &coded.Error{Code: BuildFailed, Message: "go mod download: " + shorten.LastLines(said.String(), 5), Err: errors.Join(runErr, err)}
	}
	switch {
	case unverified(is.Error):
		return "", cannotVerify(is.Error)
	case missing(is.Error):
		return "", noSuchVersion(m)
	case is.Error != "":
		return "", &coded.Error{Code: BuildFailed, Message: "go mod download: " + is.Error}
	case m.Sum != "" && is.Sum != m.Sum:
		return "", coded.New(BuildFailed, "", nil, "its checksum is %s, want %s: this is not what was released", is.Sum, m.Sum)
	case runErr != nil:
		return "", &coded.Error{Code: BuildFailed, Message: "go mod download", Err: runErr}
	}
	return is.Dir, nil
}

// Codes of a [coded.Error] of this package, which does not name the module.
const (
	GoMissing      = "go-missing"      // there is no toolchain
	VersionUnknown = "version-unknown" // there is no such release, or none to be had
	Unverified     = "unverified"      // the checksum database has no answer, so that what the proxy gives cannot be verified
	BuildFailed    = "build-failed"
)
