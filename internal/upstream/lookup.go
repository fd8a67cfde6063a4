package upstream

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Find asks for a release without downloading it. Errors are as those of Build, with the codes VersionUnknown if it
// does not exist, and Unverified.
func (t Toolchain) Find(ctx context.Context, m Module) error {
	t = t.withDefaults()
	if _, err := exec.LookPath(t.Go); err != nil {
		return coded.New(GoMissing, "", nil, "there is no Go toolchain to look it up with: %q is not in $PATH", t.Go)
	}
	cmd := t.command(ctx, os.TempDir(), "list", "-m", m.String()) // in no module
	cmd.Env = append(cmd.Env, m.environment()...)
	var said bytes.Buffer
	cmd.Stderr = &said
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case unverified(said.String()):
		return cannotVerify(said.String())
	case missing(said.String()):
		return noSuchVersion(m)
	}
	return &coded.Error{Code: BuildFailed, Message: "go list -m " + m.String() + ": " + shorten.LastLines(said.String(), 5), Err: err}
}

var missingPattern = regexp.MustCompile(`(?i)unknown revision|not found|no matching versions|invalid version|not available|410 gone`)

// missing reports whether the Go command says that there is no such release.
func missing(said string) bool { return missingPattern.MatchString(said) }

func noSuchVersion(m Module) error {
	return coded.New(VersionUnknown, "", nil, "there is no such version of %s, or none that the Go module proxy gives", m.Path)
}

// unverified reports whether the Go command says that the checksum database did not answer.
func unverified(said string) bool {
	return strings.Contains(said, ": verifying ") && strings.Contains(said, "/lookup/")
}

func cannotVerify(said string) error {
	return coded.New(Unverified, "", nil, "it cannot be verified, since the checksum database has no answer: %s", shorten.LastLines(said, 1))
}
