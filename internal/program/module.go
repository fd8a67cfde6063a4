package program

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/private"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

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
	f := o.product.facts()
	return filepath.Join(o.Cache, "upstream", f.folder, version, o.OS+"-"+o.Arch, f.file)
}

// build makes the binary of a release. What it writes is complete or not there.
func (o Options) build(ctx context.Context, v *progress, version, path string) error {
	tool, f := o.toolchain(), o.product.facts()
	tool.Progress = v.now
	err := tool.Build(ctx, o.product.Release(version), upstream.Program{Package: f.command, Path: path, Env: f.env})
	return o.explain(ctx, version, err)
}

// find checks that there is a release, without downloading it.
func (o Options) find(ctx context.Context, version string) error {
	if _, err := os.Stat(o.modulePath(version)); err == nil {
		return nil // it is built already
	}
	return o.explain(ctx, version, o.toolchain().Find(ctx, o.product.Release(version)))
}

// explain says what an error of the toolchain is about.
func (o Options) explain(ctx context.Context, version string, err error) error {
	var why *coded.Error
	if !errors.As(err, &why) {
		return err
	}
	e := coded.New(BuildFailed, "", why.Err, "module:%s: %s", version, why.Message)
	switch why.Code {
	case upstream.GoMissing:
		e.Code, e.Try = GoMissing, "install Go (https://go.dev/dl), or use image: or a PATH"
	case upstream.VersionUnknown:
		e.Code, e.Try = VersionUnknown, o.otherVersions(ctx, version)
	case upstream.Unverified:
		e.Try = "again; or GONOSUMDB=" + o.product.facts().module + " in the environment, if you trust what the module proxy gives"
	}
	return e
}

func (o Options) toolchain() upstream.Toolchain {
	return upstream.Toolchain{Go: o.Go, OS: o.OS, Arch: o.Arch}
}

// otherVersions names the versions nearest to one that does not exist. If the module proxy has no list, it names releases that
// are known here.
func (o Options) otherVersions(ctx context.Context, version string) string {
	versions := o.versions(ctx)
	return "module:" + strings.Join(nearestVersions(versions, version, 4), ", module:")
}

// versions returns the versions that the module proxy lists, the oldest first, or the releases that are known here.
func (o Options) versions(ctx context.Context) []string {
	f := o.product.facts()
	if all := o.toolchain().Versions(ctx, f.module); len(all) > 0 {
		return all
	}
	return f.releases
}

// Versions returns the versions of the product's module that the module proxy lists, the oldest first. If the proxy has no list,
// it returns the releases that are known here.
func (p Product) Versions(ctx context.Context, o Options) []string {
	o.product = p
	return o.versions(ctx)
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

// Read returns a file of a release's module by its path, as it was released. A file that the module does not have is an
// fs.ErrNotExist; errors about the release are of type [*coded.Error], with the codes of package upstream.
func (p Product) Read(ctx context.Context, version, path string, o Options) ([]byte, error) {
	if err := p.CheckVersion(version); err != nil {
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
	return tool.Read(ctx, p.Release(version), path)
}

// ReadError returns the error of commands for an error of [Product.Read], nil for nil: the release lacks what ("manifest"), which this
// machine may not know for want of Go. Of is appended to what the module does not have, try says what to use instead.
func (p Product) ReadError(err error, version, what, of, try string) error {
	code := p.facts().code + "-" + what + "-missing"
	why, ok := errors.AsType[*coded.Error](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return coded.New(code, try, err, "%s %s: its module has no %s%s", p, version, what, of)
	case !ok:
		return err
	case why.Code == upstream.GoMissing: // which this machine lacks, not the release
		code = GoMissing
	}
	return coded.New(code, try, why.Err, "%s %s: its %s: %s", p, version, what, why.Message)
}
