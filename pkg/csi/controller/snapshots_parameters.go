package controller

import (
	"maps"
	"slices"
	"strings"
)

// checkSnapshotParameters refuses parameters of a VolumeSnapshotClass: there are none but the sidecar's own.
func checkSnapshotParameters(given map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !strings.HasPrefix(strings.ToLower(key), sidecarPrefix) {
			return invalid("parameter %s: not known: snapshots have no parameters", key)
		}
	}
	return nil
}
