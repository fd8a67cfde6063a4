package ground

import (
	source "github.com/vsphere-sandbox/vsphere-sandbox/internal/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// Fits refuses flags of the cloud controller manager that would be ignored in this cluster. Both have been checked.
func (f *Flags) Fits(c *ccm.Flags) error {
	if c.None() && f.Cluster != Embedded && !f.Watches {
		return report.UsageError("leave --ccm out", "--ccm none is for --cluster embedded: here it comes with the cluster")
	}
	if !f.Podded() {
		if c.Manifest != "" {
			return report.UsageError("--cluster kind --ccm-manifest "+c.Manifest, "--ccm-manifest is for --cluster kind: here it runs as a process")
		}
		return nil
	}
	if c.Watch != "" { // a process of this machine, in this cluster, too
		if c.Manifest != "" {
			return report.UsageError("--ccm image:… --ccm-manifest "+c.Manifest, "--ccm-watch and --ccm-manifest exclude each other: what is watched runs as a process")
		}
		return nil
	}
	from, err := source.Parse(c.Source)
	if err != nil {
		return ccm.Explain(err)
	}
	if from.Kind() == source.File && c.Manifest == "" {
		return nil // the same
	}
	if len(c.Env) > 0 {
		return report.UsageError("--ccm-manifest FILE, with the environment in it", "--ccm-env: with --cluster kind it runs as pods, whose environment is in their manifest")
	}
	if from.Kind() == source.Builtin {
		return nil
	}
	if len(c.Args) > 0 || c.Replicas > 1 {
		return report.UsageError("--ccm-manifest FILE, with them in it",
			"--ccm-arg and --ccm-replicas: with --cluster kind %s is deployed with its own manifest, which is not changed", c.Source)
	}
	return nil
}
