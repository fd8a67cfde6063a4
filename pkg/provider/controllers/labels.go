package controllers

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// place is a region and a zone.
type place struct {
	Region, Zone string
}

// String returns "region/zone"; "-" stands for what is not known.
func (p place) String() string { return orDash(p.Region) + "/" + orDash(p.Zone) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// placeOf returns what the node's labels say.
func placeOf(node *corev1.Node) place {
	return place{Region: node.Labels[corev1.LabelTopologyRegion], Zone: node.Labels[corev1.LabelTopologyZone]}
}

// labelChanges returns the labels that must change for the node to be at p. The beta labels follow where the node has
// them; they must, because the cloud-node controller copies them over the others (controllers/node,
// reconcileNodeLabels).
func labelChanges(node *corev1.Node, p place) map[string]string {
	changes := map[string]string{}
	for _, l := range []struct {
		name, value string
		always      bool
	}{
		{corev1.LabelTopologyRegion, p.Region, true},
		{corev1.LabelTopologyZone, p.Zone, true},
		{corev1.LabelFailureDomainBetaRegion, p.Region, false},
		{corev1.LabelFailureDomainBetaZone, p.Zone, false},
	} {
		value, ok := node.Labels[l.name]
		if value != l.value && (ok || l.always) {
			changes[l.name] = l.value
		}
	}
	return changes
}

// labelPatch returns a patch of a node's labels, all at once, that applies to the node of that UID only.
func labelPatch(uid types.UID, changes map[string]string) ([]byte, error) {
	metadata := map[string]any{"labels": changes}
	if uid != "" {
		metadata["uid"] = uid
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("patch of labels: %w", err)
	}
	return patch, nil
}
