package csidriver

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"regexp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
)

// Version returns the release that a source names, "" if the tag of an image does not say it.
func Version(s program.Source) string {
	return regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).FindString(s.Ref())
}

// Programs are the files of a release's programs.
type Programs struct{ Dir, Driver, Syncer string }

// Build makes the programs of a release as its Dockerfiles do, static ones for Linux, unless they are there already. The first time
// it takes some minutes. Errors that are about the release are of type [coded.Error].
func Build(ctx context.Context, version string, o program.Options) (Programs, error) {
	var p Programs
	o.OS = cmp.Or(o.OS, "linux") // where pods run
	for _, one := range []struct {
		product program.Product
		path    *string
	}{{program.CSIDriver, &p.Driver}, {program.CSISyncer, &p.Syncer}} {
		source, err := one.product.Parse("module:" + version)
		if err != nil {
			return p, err
		}
		found, err := source.Resolve(ctx, o)
		if err != nil {
			return p, err
		}
		*one.path = found.Path
	}
	p.Dir = filepath.Dir(p.Driver)
	return p, nil
}

// topologyLine is a line that a release's manifest has in a comment, for a cluster with regions and zones.
var topologyLine = regexp.MustCompile(`(?m)^(\s*)#(- "--(?:feature-gates=Topology=true|strict-topology)")\s*$`)

// WithTopology returns the manifest of a release for a cluster with regions and zones: with the arguments of its csi-provisioner
// that it has in a comment ("needed only for topology aware setup").
func WithTopology(manifest []byte) []byte {
	return topologyLine.ReplaceAll(manifest, []byte("${1}${2}"))
}

// ManifestMissing is the code of the error of [Manifest].
const ManifestMissing = "csi-manifest-missing"

// Manifest is what a release is deployed with on Kubernetes that is not of VMware's, as it was released: its namespace, then
// all else. Errors that are about the release are of type [coded.Error].
func Manifest(ctx context.Context, version string, o program.Options) ([]byte, error) {
	var all [][]byte
	for _, name := range []string{"namespace.yaml", "vsphere-csi-driver.yaml"} {
		text, err := read(ctx, version, name, o)
		if err != nil {
			return nil, err
		}
		all = append(all, bytes.TrimRight(text, "\n"))
	}
	return append(bytes.Join(all, []byte("\n---\n")), '\n'), nil
}

// WebhookManifest is what the validating webhook of a release is deployed with, as it was released. Errors are as those of [Manifest].
func WebhookManifest(ctx context.Context, version string, o program.Options) ([]byte, error) {
	return read(ctx, version, "validatingwebhook.yaml", o)
}

// read reads a manifest of a release.
func read(ctx context.Context, version, name string, o program.Options) ([]byte, error) {
	text, err := program.CSIDriver.Read(ctx, version, "manifests/vanilla/"+name, o)
	if err != nil {
		return nil, program.CSIDriver.ReadError(err, version, "manifest", "", "--csi-manifest FILE")
	}
	return text, nil
}
