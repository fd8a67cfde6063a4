package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"text/tabwriter"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/build"
)

// moduleRoot is where all their modules are.
const moduleRoot = "github.com/kubernetes-csi/"

func help(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "The stock sidecars of a CSI driver in one program.\n\nUsage: csi-sidecars SIDECAR [FLAGS]\n\n")
	for _, s := range sidecars() {
		fmt.Fprintf(t, "  %s\t%s\n", s.name, s.about)
	}
	fmt.Fprint(t, "\n`csi-sidecars SIDECAR --help` lists a sidecar's flags, `csi-sidecars version` the releases.\n")
	return t.Flush()
}

// versions are this program's own and those of the modules in it.
func versions(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "csi-sidecars\t%s\n", build.Version())
	for _, s := range sidecars() {
		fmt.Fprintf(t, "%s\t%s\n", s.name, s.version())
	}
	return t.Flush()
}

// version is the release of its module, as the linker has written it down.
func (s sidecar) version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == moduleRoot+s.module {
				return m.Version
			}
		}
	}
	return "unknown"
}
