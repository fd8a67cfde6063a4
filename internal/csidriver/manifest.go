package csidriver

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/upstream"
)

// Manifest is what a release is deployed with on Kubernetes that is not of VMware's, as it was released: its namespace, then
// all else. Errors that are about the release are of type [coded.Error].
func Manifest(ctx context.Context, version string, o Options) ([]byte, error) {
	tool := o.toolchain()
	var all [][]byte
	for _, name := range []string{"namespace.yaml", "vsphere-csi-driver.yaml"} {
		text, err := tool.Read(ctx, releaseOf(version), "manifests/vanilla/"+name)
		var why *coded.Error
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, coded.New(ManifestMissing, "--csi-manifest FILE", err, "CSI driver %s: its module has no manifest", version)
		case errors.As(err, &why):
			code := ManifestMissing
			if why.Code == upstream.GoMissing { // which this machine lacks, not the release
				code = GoMissing
			}
			return nil, coded.New(code, "--csi-manifest FILE", why.Err, "CSI driver %s: its manifest: %s", version, why.Message)
		case err != nil:
			return nil, err
		}
		all = append(all, bytes.TrimRight(text, "\n"))
	}
	return append(bytes.Join(all, []byte("\n---\n")), '\n'), nil
}
