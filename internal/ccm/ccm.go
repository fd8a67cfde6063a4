// Package ccm finds the program of a cloud controller manager, and the manifest that a release of upstream's is deployed with.
// [program.CCM] says what is particular about it.
//
// Floor 0: of this module it imports packages program and upstream.
package ccm

import (
	"context"
	"errors"
	"io/fs"
	"regexp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// ProgramPath returns where upstream's images have their program, and what they run: its manifests give arguments alone.
func ProgramPath() string { return "/bin/" + program.CCM.File() }

// Manifest is the one that upstream's release, by its version ("v1.36.0"), is deployed with, as it was released: every
// module has those of all minor versions so far. Errors that are about the release are of type [coded.Error].
func Manifest(ctx context.Context, version string, o program.Options) ([]byte, error) {
	if err := program.CCM.CheckVersion(version); err != nil {
		return nil, err
	}
	minor := regexp.MustCompile(`^v[0-9]+\.[0-9]+`).FindString(version)
	text, err := program.CCM.Read(ctx, version, "releases/"+minor+"/"+program.CCM.File()+".yaml", o)
	var why *coded.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, coded.New("ccm-manifest-missing", "--ccm-manifest FILE", err, "CCM %s: its module has no manifest for %s", version, minor)
	case errors.As(err, &why):
		code := "ccm-manifest-missing"
		if why.Code == upstream.GoMissing { // which this machine lacks, not the release
			code = program.GoMissing
		}
		return nil, coded.New(code, "--ccm-manifest FILE", why.Err, "CCM %s: its manifest: %s", version, why.Message)
	}
	return text, err
}
