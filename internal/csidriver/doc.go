// Package csidriver finds upstream's vSphere CSI driver, unmodified: what its releases are deployed with, and its programs,
// built from the Go module sigs.k8s.io/vsphere-csi-driver/v3.
//
//	source, err := csidriver.Parse("module:v3.7.0")
//	manifest, err := csidriver.Manifest(ctx, source.Version(), csidriver.Options{})
//	programs, err := csidriver.Build(ctx, source.Version(), csidriver.Options{})
//
// It runs nothing. Where the programs run, and with what configuration, is the caller's.
//
// Floor 0: of this module it imports only internal/upstream.
package csidriver
