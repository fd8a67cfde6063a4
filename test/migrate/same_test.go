package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// identity is what a migration has to leave as it is, one line per object.
func (w *world) identity() map[string]string {
	w.Helper()
	is := map[string]string{}
	for _, n := range object[corev1.NodeList](w, "get", "nodes").Items {
		labels := maps.Clone(n.Labels)
		taints := []string{}
		for _, t := range n.Spec.Taints {
			taints = append(taints, t.ToString())
		}
		is["node "+n.Name] = fmt.Sprintf("%s %s %s taints %v labels %v", n.UID, n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID, taints, labels)
	}
	for _, v := range object[corev1.PersistentVolumeList](w, "get", "pv").Items {
		is["volume "+v.Name] = fmt.Sprintf("%s %s %v", v.UID, v.Status.Phase, v.Spec.VsphereVolume)
	}
	for _, c := range object[corev1.PersistentVolumeClaimList](w, "get", "pvc").Items {
		is["claim "+c.Name] = fmt.Sprintf("%s %s %s", c.UID, c.Status.Phase, c.Spec.VolumeName)
	}
	for _, p := range object[corev1.PodList](w, "get", "pods", "-l", "app=bystander").Items {
		restarts := int32(0)
		for _, c := range p.Status.ContainerStatuses {
			restarts += c.RestartCount
		}
		is["pod "+p.Name] = fmt.Sprintf("%s on %s, %s, restarted %d times", p.UID, p.Spec.NodeName, p.Status.Phase, restarts)
	}
	return is
}

// same fails for what has become another.
func (w *world) same(when string, was map[string]string) {
	w.Helper()
	is := w.identity()
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if is[key] != was[key] {
			w.Errorf("%s, %s\n is  %s\n was %s", when, key, is[key], was[key])
		}
	}
}

// quiet fails for errors in what a component has logged since.
func (w *world) quiet(component string, since int) {
	w.Helper()
	for line := range strings.Lines(w.log(component)[since:]) {
		if strings.HasPrefix(line, "E") || strings.HasPrefix(line, "W") || strings.HasPrefix(line, "F") {
			w.Errorf("%s says: %s", component, line)
		}
	}
}
