package main

import (
	"fmt"
	"regexp"
)

const (
	module  = "k8s.io/cloud-provider-vsphere"
	command = "./cmd/vsphere-cloud-controller-manager"
)

// pinned returns the checksum of a release's module, as go.sum has it; empty for one that is not known here.
func pinned(version string) string {
	switch version {
	case "v1.34.0":
		return "h1:XVn67iOmwld6pQI6DGCxwiA515VsHofIOUIwaVN8VLo="
	case "v1.36.0":
		return "h1:BzLS2rZW8qh/Yabh9SvWwGpyUiiyraYjrDSHO76sDfY="
	}
	return ""
}

// check refuses what is no version of a module: it becomes a part of paths.
func check(version string) error {
	if !regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`).MatchString(version) {
		return fmt.Errorf("version %q is not of the form v1.36.0", version)
	}
	return nil
}
