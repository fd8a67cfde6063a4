package glance

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/theme"
)

// Node is whether a node is ready, and is one at all.
func Node(n api.Node) Mark {
	switch {
	case !n.Registered:
		return plain("not registered")
	case n.Ready == "True" && !n.Initialized:
		return warn("uninitialized")
	case n.Ready == "True":
		return good("Ready")
	case n.Ready == "False":
		return bad("NotReady")
	case n.Ready == "Unknown":
		return Mark{theme.GlyphUnknown, "Unknown", Bad}
	}
	return warn("no status")
}

// Volume is where a volume is between a claim and a pod that runs.
func Volume(s api.VolumeState) Mark {
	switch s {
	case api.VolumeInUse, api.VolumeAttached:
		return good(string(s))
	case api.VolumePending, api.VolumeAttaching, api.VolumeDetaching:
		return warn(string(s))
	case api.VolumeBlocked, api.VolumeLost:
		return bad(string(s))
	case api.VolumeOrphaned:
		return doubt(string(s))
	case api.VolumeDetached, api.VolumeReleased:
		return plain(string(s))
	}
	return doubt(orUnknown(string(s)))
}
