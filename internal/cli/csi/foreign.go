package csi

import (
	"context"
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/csidriver"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/ground/kind"
)

// foreign finds a driver that is not ours: its manifest, and programs that are built.
func (f *Flags) foreign(ctx context.Context, streams *iostreams.Streams) (*kind.ForeignCSI, error) {
	source, err := csidriver.Parse(f.Driver)
	if err != nil {
		return nil, explain(err)
	}
	found := &kind.ForeignCSI{Source: source.String()}
	o := csidriver.Options{Say: func(format string, args ...any) { fmt.Fprintf(streams.Err, "  … csi: "+format+"\n", args...) }}
	if f.Manifest != "" {
		if found.Manifest, err = input.File(f.Manifest, input.MaxFile); err != nil {
			return nil, &report.Error{Code: "usage", Message: "--csi-manifest", Err: err, Exit: report.Usage, Try: "--csi-manifest FILE that can be read, or leave it out for the release's own"}
		}
	} else if found.Manifest, err = csidriver.Manifest(ctx, source.Version(), o); err != nil {
		return nil, explain(err)
	}
	switch source.Kind() {
	case csidriver.Image:
		found.Image = source.Ref()
	case csidriver.Module:
		programs, err := csidriver.Build(ctx, source.Version(), o)
		if err != nil {
			return nil, explain(err)
		}
		found.Programs = []kind.CSIProgram{
			{File: programs.Driver, At: "/bin/" + csidriver.Driver, Repository: "driver", Formats: true},
			{File: programs.Syncer, At: "/bin/" + csidriver.Syncer, Repository: "syncer"},
		}
	}
	return found, nil
}

// Planned returns what [Flags.Resolve] would return for another project's driver, without downloads and builds: enough
// for a plan. It returns nil for other drivers.
func (f *Flags) Planned() *kind.ForeignCSI {
	if !f.Foreign() {
		return nil
	}
	return &kind.ForeignCSI{Source: f.Driver}
}

// explain gives an error about a source its exit status: asked wrongly, or what this machine does not have.
func explain(err error) error {
	return report.Coded(err, report.Usage, map[string]int{csidriver.GoMissing: report.Prerequisite, csidriver.BuildFailed: report.Failure})
}
