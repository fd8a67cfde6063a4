// Package manifests carries what is beside it, for programs that apply it: the folders are what people apply by hand, and
// what the sandbox deploys is made of the same files.
//
//	data, err := manifests.Files.ReadFile("ccm/daemonset.yaml")
//
// Floor 0: it imports nothing of this module.
package manifests

import "embed"

// Files are the folders ccm and csi, as kustomize reads them, without the pages that explain them.
//
//go:embed ccm/*.yaml csi/*.yaml csi/definitions/*.yaml
var Files embed.FS
