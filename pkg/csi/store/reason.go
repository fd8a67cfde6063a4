package store

import (
	"context"
	"errors"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
)

// Reason is a short word for an error of a [Store], for metrics and logs: "ok" for nil, "error" for what nothing is known
// of.
func Reason(err error) string {
	if err == nil {
		return "ok"
	}
	for _, r := range reasons() {
		if errors.Is(err, r.is) {
			return r.word
		}
	}
	return "error"
}

type reason struct {
	is   error
	word string
}

func reasons() []reason {
	return []reason{
		{volume.ErrPending, "pending"},
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
		{volume.ErrNotFound, "not-found"},
		{volume.ErrNodeGone, "node-gone"},
		{volume.ErrInUse, "in-use"},
		{volume.ErrSnapshots, "snapshots"},
		{volume.ErrNoSlot, "no-slot"},
		{volume.ErrNoSpace, "no-space"},
		{volume.ErrNoDatastore, "no-datastore"},
		{volume.ErrExists, "exists"},
		{volume.ErrInvalid, "invalid"},
		{volume.ErrState, "state"},
		{volume.ErrPermission, "permission"},
		{volume.ErrUnavailable, "unavailable"},
		{volume.ErrLimit, "limit"},
		{volume.ErrNotSupported, "not-supported"},
	}
}
