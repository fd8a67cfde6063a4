package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"regexp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/shorten"
)

// Module is a release of a Go module.
type Module struct {
	// Path is its import path, Version its version ("v1.2.3").
	Path, Version string
	// Sum is its checksum as go.sum has it. Empty: not known here, which is left to Go's checksum database.
	Sum string
}

// String is "path@version".
func (m Module) String() string { return m.Path + "@" + m.Version }

// download returns where the module's files are, after they have been verified.
func (t Toolchain) download(ctx context.Context, m Module) (dir string, err error) {
	cmd := t.command(ctx, os.TempDir(), "mod", "download", "-json", m.String()) // in no module
	if m.Sum != "" {
		// Verified here. A mirror need not serve the checksum database.
		cmd.Env = append(cmd.Env, "GONOSUMDB="+path.Clean(m.Path))
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	out, runErr := cmd.Output()
	var is struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out, &is); err != nil {
		return "", &coded.Error{Code: BuildFailed, Message: "go mod download: " + shorten.LastLines(said.String(), 5), Err: errors.Join(runErr, err)}
	}
	unknown := regexp.MustCompile(`(?i)unknown revision|not found|no matching versions|invalid version|not available|410 gone`)
	switch {
	case unknown.MatchString(is.Error):
		return "", coded.New(VersionUnknown, "", nil, "there is no such version of %s, or none that the Go module proxy gives", m.Path)
	case is.Error != "":
		return "", &coded.Error{Code: BuildFailed, Message: "go mod download: " + is.Error}
	case m.Sum != "" && is.Sum != m.Sum:
		return "", coded.New(BuildFailed, "", nil, "its checksum is %s, want %s: this is not what was released", is.Sum, m.Sum)
	case runErr != nil:
		return "", &coded.Error{Code: BuildFailed, Message: "go mod download", Err: runErr}
	}
	return is.Dir, nil
}
