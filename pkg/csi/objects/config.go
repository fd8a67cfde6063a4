package objects

import (
	"cmp"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DefaultNamespace is upstream's.
const DefaultNamespace = "vmware-system-csi"

// The ServiceAccounts, one for each process, by the names that the processes have elsewhere too.
const (
	Controller         = "vsphere-csi-controller"
	Node               = "vsphere-csi-node"
	Provisioner        = "csi-provisioner"
	Attacher           = "csi-attacher"
	Resizer            = "csi-resizer"
	Snapshotter        = "csi-snapshotter"
	SnapshotController = "snapshot-controller"
)

// Config says what [All] makes. The zero value is a good one: a process of its own for everything, and no Secret.
type Config struct {
	// Namespace is where everything is that has one; DefaultNamespace when empty.
	Namespace string
	// OnePod is set when the driver's controller and its sidecars are one pod, which has one ServiceAccount, Controller:
	// it has the roles of all. The snapshot-controller, which is no sidecar, keeps its own.
	OnePod bool
	// LeaderElection is set when the sidecars and the snapshot-controller run with --leader-election, with their Leases in
	// Namespace.
	LeaderElection bool
	// SecretNames are the Secrets in SecretNamespace (Namespace when empty) that the configuration of the driver names.
	// Their order and repetitions count for nothing. Files that are mounted need no right.
	SecretNamespace string
	SecretNames     []string
	// FSGroupPolicy says whether kubelets change the group of a volume's files; ReadWriteOnceWithFSType when empty, as
	// Kubernetes has it. Kubelets without the right to (hollow ones, which run as whoever started the sandbox) need
	// None, or no pod with an fsGroup starts.
	FSGroupPolicy storagev1.FSGroupPolicy
	// Policies are the names of storage policies that get a StorageClass each.
	Policies []string
}

func (c Config) withDefaults() Config {
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	c.SecretNamespace = cmp.Or(c.SecretNamespace, c.Namespace)
	c.FSGroupPolicy = cmp.Or(c.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	c.SecretNames = slices.Compact(slices.Sorted(slices.Values(c.SecretNames)))
	return c
}

// All returns everything, in an order in which it can be created: the namespace and the definitions before what is of
// them. A definition takes a moment to be served after it has been created, and the VolumeSnapshotClass, which comes last,
// needs that. Its only error is one of the build.
func All(c Config) ([]runtime.Object, error) {
	definitions, err := Definitions()
	if err != nil {
		return nil, err
	}
	all := []runtime.Object{Namespace(c)}
	for _, d := range definitions {
		all = append(all, d)
	}
	all = append(all, Rights(c)...)
	all = append(all, Driver(c))
	for _, class := range StorageClasses(c) {
		all = append(all, class)
	}
	return append(all, SnapshotClass()), nil
}

func typeMeta(gv interface{ String() string }, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: gv.String(), Kind: kind}
}
