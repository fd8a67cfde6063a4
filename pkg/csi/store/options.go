package store

import (
	"log/slog"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Options configure a [Store]. Clients and Cluster.ID are mandatory.
type Options struct {
	// Clients are the connections, one per vCenter; volumes and nodes refer to vCenters by their names. The caller runs them,
	// for longer than the store.
	Clients []*vcenter.Client
	Cluster Cluster
	// Nodes returns the cluster's nodes in one vCenter, for [Store.Volumes] and for errors about volumes in use. An error means
	// that the list may be incomplete. It must not block. nil means no nodes.
	Nodes func(vcenter string) ([]volume.Node, error)

	// SnapshotLimit is the maximum number of snapshots per volume; 3 when zero. See [Store.SetSnapshotLimit].
	SnapshotLimit int
	// Page is the number of volumes or snapshots per query; 1,000 when zero.
	Page int
	// Calls is the maximum number of concurrent calls to one vCenter, not counting the long poll; 16 when zero.
	Calls int
	// Operations is the maximum number of concurrent operations; 2,000 when zero. More get [volume.ErrUnavailable].
	Operations int
	// OperationLimit is the timeout of an operation; 15 min when zero. Its task continues.
	OperationLimit time.Duration
	// TaskCheck is how long a task may have no news before it is read directly; 10 s when zero.
	TaskCheck time.Duration
	// PollWait is how long a vCenter may hold the long poll, in whole seconds; 30 s when zero.
	PollWait time.Duration
	// Grace is how long a call waits for a connection that was just lost, or not made yet; 3 s when zero.
	Grace time.Duration

	// OnOperation, if set, is called at the end of every operation. It must not block.
	OnOperation func(Operation)
	// OnCall, if set, is called for the calls to CNS, which the clients' OnCall does not see. It must not block.
	OnCall func(vcenterName string, call vcenter.Call)
	// Logger receives changes of state; discarded when nil.
	Logger *slog.Logger
}

// Cluster identifies the cluster in CNS's records.
type Cluster struct {
	// ID identifies the cluster's volumes. It must never change.
	ID string
	// Distribution is shown in the vSphere Client; often empty.
	Distribution string
}

// Operation describes one operation of a [Store].
type Operation struct {
	VCenter string // empty for several
	// Name is "create", "delete", "attach", "detach", "expand", "snapshot", "delete-snapshot", "snapshots", "volumes",
	// "attachments", "volume", "metadata", "register", "protect" or "datastores".
	Name string
	// Result is "ok", or the [Reason] of the error.
	Result   string
	Duration time.Duration
}

// withDefaults returns o with its defaults set.
func (o Options) withDefaults() Options {
	orDefault(&o.SnapshotLimit, 3)
	orDefault(&o.Page, 1000)
	orDefault(&o.Calls, 16)
	orDefault(&o.Operations, 2000)
	orDefault(&o.OperationLimit, 15*time.Minute)
	orDefault(&o.TaskCheck, 10*time.Second)
	orDefault(&o.PollWait, 30*time.Second)
	orDefault(&o.Grace, 3*time.Second)
	o.PollWait = max(o.PollWait.Truncate(time.Second), time.Second) // the protocol counts whole seconds; zero means "do not wait"
	if o.Nodes == nil {
		o.Nodes = func(string) ([]volume.Node, error) { return nil, nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}
