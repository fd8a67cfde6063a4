package csidriver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

const module = "sigs.k8s.io/vsphere-csi-driver/v3"

// The programs, as upstream's images have them below /bin.
const (
	Driver = "vsphere-csi"
	Syncer = "vsphere-syncer"
)

// Programs are the files of a release's programs.
type Programs struct{ Dir, Driver, Syncer string }

// releaseOf is a release of the module. Its checksum is that of go.sum for those that are known here; others are left to Go's
// checksum database.
func releaseOf(version string) upstream.Module {
	m := upstream.Module{Path: module, Version: version}
	if version == "v3.7.0" {
		m.Sum = "h1:qLKC7gXRS8fhX6CMzif1VsE4/nSePGKO71k9R9UXJJ8="
	}
	return m
}

// Build makes the programs of a release as its Dockerfiles do, static ones, unless they are there already. The first time it
// takes some minutes. Errors that are about the release are of type [coded.Error].
func Build(ctx context.Context, version string, o Options) (Programs, error) {
	dir, err := o.folder(version)
	if err != nil {
		return Programs{}, err
	}
	p := Programs{Dir: dir, Driver: filepath.Join(dir, Driver), Syncer: filepath.Join(dir, Syncer)}
	var missing []upstream.Program
	for _, of := range []upstream.Program{
		{Package: "./cmd/vsphere-csi", Path: p.Driver},
		{Package: "./cmd/syncer", Path: p.Syncer},
	} {
		// The syncer imports crypto/tls/fipsonly, which there is with this experiment alone.
		of.Env = []string{"GOEXPERIMENT=boringcrypto"}
		if _, err := os.Stat(of.Path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, of)
		} else if err != nil {
			return p, err
		}
	}
	if len(missing) == 0 {
		return p, private.Dir(dir) // they may be another user's programs
	}
	err = o.toolchain().Build(ctx, releaseOf(version), missing...)
	var why *coded.Error
	if !errors.As(err, &why) {
		return p, err
	}
	message := fmt.Sprintf("CSI driver module:%s: %s", version, why.Message)
	switch why.Code {
	case upstream.GoMissing:
		return p, coded.New(GoMissing, "install Go (https://go.dev/dl), or use image:", why.Err, "%s", message)
	case upstream.VersionUnknown:
		return p, coded.New(VersionUnknown, "--csi module:v3.7.0", why.Err, "%s", message)
	}
	return p, coded.New(BuildFailed, "", why.Err, "%s", message)
}
