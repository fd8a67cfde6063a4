package ccm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// programName is what upstream's program is called, in its images too.
const programName = "vsphere-cloud-controller-manager"

const (
	module  = "k8s.io/cloud-provider-vsphere"
	command = "./cmd/" + programName
)

// pinned returns the checksum of a release's module, as go.sum has it; empty for one that is not known here, which is
// left to Go's checksum database.
func pinned(version string) string {
	switch version {
	case "v1.34.0":
		return "h1:XVn67iOmwld6pQI6DGCxwiA515VsHofIOUIwaVN8VLo="
	case "v1.36.0":
		return "h1:BzLS2rZW8qh/Yabh9SvWwGpyUiiyraYjrDSHO76sDfY="
	}
	return ""
}

// checkVersion refuses what is no version of a module: it becomes a part of paths.
func checkVersion(version string) error {
	if !regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).MatchString(version) {
		return &coded.Error{Code: "usage", Message: fmt.Sprintf("CCM module:%s: is no version; want one of the form v1.36.0", version), Try: "module:v1.36.0"}
	}
	return nil
}

// module returns a release of upstream's, unmodified, built with the go.mod and go.sum that it was released with.
func (o Options) module(ctx context.Context, version string) (Program, error) {
	path := o.modulePath(version)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		v := startProgress(o.Progress)
		err := o.build(ctx, v, version, path)
		v.stop()
		if err != nil {
			return Program{}, err
		}
	} else if err != nil {
		return Program{}, err
	}
	if err := private.Dir(filepath.Dir(path)); err != nil { // it may be another user's program
		return Program{}, err
	}
	p, err := o.file(path)
	p.Version = version
	return p, err
}

// modulePath is where the program of a release is kept.
func (o Options) modulePath(version string) string {
	return filepath.Join(o.Cache, "upstream", version, o.OS+"-"+o.Arch, programName)
}

// build makes the binary of a release. What it writes is complete or not there.
func (o Options) build(ctx context.Context, v *progress, version, path string) error {
	tool := o.toolchain()
	tool.Progress = v.now
	err := tool.Build(ctx, upstream.Module{Path: module, Version: version, Sum: pinned(version)}, upstream.Program{Package: command, Path: path})
	return o.explain(ctx, version, err)
}

// find checks that there is a release, without downloading it.
func (o Options) find(ctx context.Context, version string) error {
	if _, err := os.Stat(o.modulePath(version)); err == nil {
		return nil // it is built already
	}
	return o.explain(ctx, version, o.toolchain().Find(ctx, upstream.Module{Path: module, Version: version}))
}

// explain says what an error of the toolchain is about.
func (o Options) explain(ctx context.Context, version string, err error) error {
	var why *coded.Error
	if !errors.As(err, &why) {
		return err
	}
	e := coded.New("ccm-build-failed", "", why.Err, "CCM module:%s: %s", version, why.Message)
	switch why.Code {
	case upstream.GoMissing:
		e.Code, e.Try = "go-missing", "install Go (https://go.dev/dl), or use image: or a PATH"
	case upstream.VersionUnknown:
		e.Code, e.Try = "ccm-version-unknown", o.otherVersions(ctx, version)
	}
	return e
}

func (o Options) toolchain() upstream.Toolchain {
	return upstream.Toolchain{Go: o.Go, OS: o.OS, Arch: o.Arch}
}

// releases are versions of upstream's that this program was tried with.
func releases() []string { return []string{"v1.34.0", "v1.35.1", "v1.36.0"} }

// otherVersions names the versions nearest to one that does not exist. If the module proxy has no list, it names releases that
// are known here.
func (o Options) otherVersions(ctx context.Context, version string) string {
	versions := o.toolchain().Versions(ctx, module)
	if len(versions) == 0 {
		versions = releases()
	}
	return "module:" + strings.Join(nearestVersions(versions, version, 4), ", module:")
}

// nearestVersions returns the most versions of the same minor release, else the newest ones, in their order.
func nearestVersions(versions []string, version string, most int) []string {
	parts := strings.SplitN(version, ".", 3)
	minor := parts[0] + "." + parts[1] + "."
	var same []string
	for _, v := range versions {
		if strings.HasPrefix(v, minor) {
			same = append(same, v)
		}
	}
	if len(same) == 0 {
		same = versions
	}
	return same[max(0, len(same)-most):]
}

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
	tool.Progress = v.now
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
