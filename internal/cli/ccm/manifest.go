package ccm

import (
	"context"
	"fmt"
	"regexp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
)

// Deployable adds to what [Flags.Resolve] has found the manifest with which it is deployed as pods: the file that was named,
// or that of upstream's release. The built-in one, and programs that are files, have none.
func (f *Flags) Deployable(ctx context.Context, c sandbox.CCM, streams *iostreams.Streams) (sandbox.CCM, error) {
	if f.Manifest != "" {
		text, err := input.File(f.Manifest, input.MaxFile)
		if err != nil {
			return c, &report.Error{Code: "usage", Message: "--ccm-manifest", Err: err, Exit: report.Usage, Try: "--ccm-manifest FILE that you may read"}
		}
		if c.Program.Path == "" {
			return c, report.UsageError("--ccm module:v1.36.0 --ccm-manifest "+f.Manifest, "--ccm-manifest: the built-in cloud controller manager has manifests of its own")
		}
		c.Manifest = text
		return c, nil
	}
	source, err := ccm.Parse(c.Program.Source)
	if err != nil {
		return c, Explain(err)
	}
	switch source.Kind() {
	case ccm.Builtin, ccm.File:
		return c, nil
	case ccm.Image, ccm.Archive, ccm.Module:
	}
	version := regexp.MustCompile(`v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).FindString(c.Program.Version)
	if version == "" {
		return c, report.UsageError("--ccm-manifest FILE", "--ccm %s: it does not say which release it is, so name the manifest to deploy it with", f.Source)
	}
	c.Manifest, err = ccm.Manifest(ctx, version, ccm.Options{Progress: func(said string) { fmt.Fprintf(streams.Err, "  … ccm: %s\n", said) }})
	return c, Explain(err)
}
