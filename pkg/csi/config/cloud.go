package config

import (
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// checkCloud makes the driver's configuration of the cloud controller manager's.
func checkCloud(name string, data []byte, r Reading) (*Config, []provider.Problem) {
	opts := []provider.Option{provider.WithEnvironment(r.Environment)}
	if r.DefaultSecrets != "" {
		opts = append(opts, provider.WithDefaultSecrets(r.DefaultSecrets))
	}
	from, all := provider.Check(name, data, opts...)
	if from == nil {
		return nil, all
	}
	if r.ClusterID == "" {
		all = append(all, noClusterID(name, "this form of the file has no place for one"))
	}
	cfg := &Config{Form: Cloud, ClusterID: r.ClusterID, VCenters: from.VCenters, SnapshotLimit: defaultSnapshots, Page: defaultPage}
	if from.Labels.Region != "" && from.Labels.Zone != "" { // half of them is told, and has no effect there either
		cfg.Categories = []string{from.Labels.Region, from.Labels.Zone}
	}
	return concluded(cfg, all)
}
