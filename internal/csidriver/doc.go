// Package csidriver finds releases of upstream's vSphere CSI driver, unmodified: what they are deployed with, and both of their
// programs. [program.CSIDriver] and [program.CSISyncer] say what is particular about the programs.
//
//	source, err := program.CSIDriver.Parse("module:v3.7.0")
//	manifest, err := csidriver.Manifest(ctx, csidriver.Version(source), program.Options{})
//	programs, err := csidriver.Build(ctx, csidriver.Version(source), program.Options{})
//
// It runs nothing. Where the programs run, and with what configuration, is the caller's.
//
// Floor 0: of this module it imports package program.
package csidriver
