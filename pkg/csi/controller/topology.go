package controller

import (
	"maps"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// segmentsOf is what CSI calls topologies. Empty ones say nothing and are left out.
func segmentsOf(all []*csi.Topology) []volume.Segment {
	var segments []volume.Segment
	for _, t := range all {
		if len(t.GetSegments()) > 0 {
			segments = append(segments, maps.Clone(t.GetSegments()))
		}
	}
	return segments
}

// topologies is the inverse of segmentsOf.
func topologies(all []volume.Segment) []*csi.Topology {
	var list []*csi.Topology
	for _, s := range all {
		if len(s) > 0 {
			list = append(list, &csi.Topology{Segments: maps.Clone(s)})
		}
	}
	return list
}
