package store

import (
	"log/slog"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
)

// Options configure a [Store]. Clients and Cluster.ID are mandatory.
type Options struct {
	// Clients are the connections, one per vCenter, by whose names volumes and nodes say where they are. Their owner runs
	// them, longer than the store is open.
	Clients []*vcenter.Client
	Cluster Cluster
	// Nodes returns the cluster's nodes in one vCenter: [Store.Volumes] tells what is attached to those, and an error for a
	// volume in use names the one. An error says that there may be more. It must not block. nil: there are none.
	Nodes func(vcenter string) ([]volume.Node, error)

	// SnapshotLimit is how many snapshots a volume may have; 3 when zero. See [Store.SetSnapshotLimit].
	SnapshotLimit int
	// Page is how many volumes or snapshots a query returns at once; 1,000 when zero.
	Page int
	// Calls is how many calls to one vCenter may be under way at once, the long poll aside; 16 when zero.
	Calls int
	// Operations is how many operations may be under way at once; 2,000 when zero. More are [volume.ErrUnavailable].
	Operations int
	// OperationLimit ends an operation whose task does not; 15 min when zero. The task goes on.
	OperationLimit time.Duration
	// TaskCheck is after how long without news a task is read directly; 10 s when zero.
	TaskCheck time.Duration
	// PollWait is how long a vCenter may hold the long poll, to the second; 30 s when zero.
	PollWait time.Duration
	// Grace is how long a vCenter that has just been lost, or was never there, is waited for; 3 s when zero.
	Grace time.Duration

	// OnOperation, when set, is told of every operation at its end. It must not block.
	OnOperation func(Operation)
	// OnCall, when set, is told of the calls that the clients' own OnCall does not see: those to CNS. It must not block.
	OnCall func(vcenterName string, call vcenter.Call)
	// Logger receives what is worth knowing; none when nil.
	Logger *slog.Logger
}

// Cluster says whose volumes they are, in CNS's records.
type Cluster struct {
	// ID tells this cluster's volumes from all others'. It must never change.
	ID string
	// Distribution is shown in the vSphere Client; often empty.
	Distribution string
}

// Operation is one operation of a [Store].
type Operation struct {
	VCenter string // empty where it concerns several
	// Name is "create", "delete", "attach", "detach", "expand", "snapshot", "delete-snapshot", "snapshots", "volumes",
	// "attachments", "volume", "metadata", "register", "protect" or "datastores".
	Name string
	// Result is "ok", or what [Reason] says of the error.
	Result   string
	Duration time.Duration
}

// withDefaults returns o with every zero value that has a default replaced.
func (o Options) withDefaults() Options {
	orDefault(&o.SnapshotLimit, 3)
	orDefault(&o.Page, 1000)
	orDefault(&o.Calls, 16)
	orDefault(&o.Operations, 2000)
	orDefault(&o.OperationLimit, 15*time.Minute)
	orDefault(&o.TaskCheck, 10*time.Second)
	orDefault(&o.PollWait, 30*time.Second)
	orDefault(&o.Grace, 3*time.Second)
	o.PollWait = max(o.PollWait.Truncate(time.Second), time.Second) // the wire counts whole seconds; none is "do not wait"
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
