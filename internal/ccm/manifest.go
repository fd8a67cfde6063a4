package ccm

import (
	"context"
	"errors"
	"io/fs"
	"regexp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// ProgramPath is where upstream's images have their program, and what they run: its manifests give arguments alone.
const ProgramPath = "/bin/" + programName

// Manifest is the one that upstream's release, by its version ("v1.36.0"), is deployed with, as it was released: every
// module has those of all minor versions so far. Errors that are about the release are of type [coded.Error].
func Manifest(ctx context.Context, version string, o Options) ([]byte, error) {
	if err := checkVersion(version); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	v := startProgress(o.Progress)
	defer v.stop()
	tool := o.toolchain()
	tool.Say = v.now
	minor := regexp.MustCompile(`^v[0-9]+\.[0-9]+`).FindString(version)
	text, err := tool.Read(ctx, upstream.Module{Path: module, Version: version, Sum: pinned(version)}, "releases/"+minor+"/"+programName+".yaml")
	var why *coded.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e := coded.New("ccm-manifest-missing", "", err, "CCM %s: its module has no manifest for %s", version, minor)
		e.Try = "--ccm-manifest FILE"
		return nil, e
	case errors.As(err, &why):
		code := "ccm-manifest-missing"
		if why.Code == upstream.GoMissing { // which this machine lacks, not the release
			code = "go-missing"
		}
		e := coded.New(code, "", why.Err, "CCM %s: its manifest: %s", version, why.Message)
		e.Try = "--ccm-manifest FILE"
		return nil, e
	}
	return text, err
}
