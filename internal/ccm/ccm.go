// Package ccm finds the program of a cloud controller manager, and the manifest that a release of upstream's is deployed with.
// [program.CCM] says what is particular about it.
//
// Floor 0: of this module it imports package program.
package ccm

import (
	"context"
	"errors"
	"io/fs"
	"regexp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
)

// ProgramPath returns where upstream's images have their program, and what they run: its manifests give arguments alone.
func ProgramPath() string { return "/bin/" + program.CCM.File() }

// Manifest is the one that upstream's release, by its version ("v1.36.0"), is deployed with, as it was released: every
// module has those of all minor versions so far. Errors that are about the release are of type [coded.Error].
func Manifest(ctx context.Context, version string, o program.Options) ([]byte, error) {
	minor := regexp.MustCompile(`^v[0-9]+\.[0-9]+`).FindString(version)
	return released(ctx, version, "manifest", minor, o, "releases/"+minor+"/"+program.CCM.File()+".yaml")
}

// Chart is the archive of the Helm chart that upstream's release is installed with: that of its version, or else that of the
// first release of its minor version. Errors are as those of [Manifest].
func Chart(ctx context.Context, version string, o program.Options) ([]byte, error) {
	parts := regexp.MustCompile(`^v([0-9]+\.[0-9]+)\.([0-9]+)`).FindStringSubmatch(version)
	if parts == nil {
		return nil, program.CCM.CheckVersion(version)
	}
	const path = "charts/vsphere-cpi-"
	return released(ctx, version, "chart", "v"+parts[1], o, path+parts[1]+"."+parts[2]+".tgz", path+parts[1]+".0.tgz")
}

// released returns the first of these files that the module of a release has.
func released(ctx context.Context, version, what, minor string, o program.Options, paths ...string) ([]byte, error) {
	if err := program.CCM.CheckVersion(version); err != nil {
		return nil, err
	}
	var text []byte
	err := fs.ErrNotExist
	for _, path := range paths {
		if text, err = program.CCM.Read(ctx, version, path, o); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	try := "--ccm-manifest FILE"
	if what == "chart" {
		try = "--chart DIR"
	}
	return text, program.CCM.ReadError(err, version, what, " for "+minor, try)
}
