package objects

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/migrated"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/nodetopology"
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

// The classes that there are whatever is configured.
const (
	// DefaultClass is the StorageClass of claims that name none: a volume is made where the pod is scheduled to.
	DefaultClass = "vsphere"
	// ImmediateClass makes the volume at once, and the pod is scheduled to where it is.
	ImmediateClass = "vsphere-immediate"
	// SnapshotClassName is the VolumeSnapshotClass of snapshots that name none.
	SnapshotClassName = "vsphere"
)

// fsType is the file system of volumes whose claim does not ask for a block device.
const fsType = "ext4"

// StorageClasses are the default one, the immediate one, and one for each storage policy, "vsphere-gold" for "Gold".
func StorageClasses(c Config) []*storagev1.StorageClass {
	first := class(DefaultClass, storagev1.VolumeBindingWaitForFirstConsumer)
	first.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	all := []*storagev1.StorageClass{first, class(ImmediateClass, storagev1.VolumeBindingImmediate)}
	taken := map[string]bool{DefaultClass: true, ImmediateClass: true}
	for _, policy := range c.Policies {
		of := class(policyClass(policy, taken), storagev1.VolumeBindingWaitForFirstConsumer)
		of.Parameters[names.ParameterPolicy] = policy
		all = append(all, of)
	}
	return all
}

func class(name string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		TypeMeta:             typeMeta(storagev1.SchemeGroupVersion, "StorageClass"),
		ObjectMeta:           metav1.ObjectMeta{Name: name},
		Provisioner:          names.Driver,
		Parameters:           map[string]string{names.ParameterFSType: fsType},
		ReclaimPolicy:        new(corev1.PersistentVolumeReclaimDelete),
		AllowVolumeExpansion: new(true),
		VolumeBindingMode:    &mode,
	}
}

// policyClass is the name of a policy's class: what of the policy's own name the name of an object can have, and a number
// where that is taken.
func policyClass(policy string, taken map[string]bool) string {
	word := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(policy))
	name := strings.Join(append([]string{DefaultClass}, strings.FieldsFunc(word, func(r rune) bool { return r == '-' })...), "-")
	name = strings.TrimRight(name[:min(len(name), 240)], "-")
	base := name
	for i := 2; taken[name]; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	taken[name] = true
	return name
}

// SnapshotClass is the default VolumeSnapshotClass.
func SnapshotClass() *snapshotv1.VolumeSnapshotClass {
	return &snapshotv1.VolumeSnapshotClass{
		TypeMeta: typeMeta(snapshotv1.SchemeGroupVersion, "VolumeSnapshotClass"),
		ObjectMeta: metav1.ObjectMeta{
			Name:        SnapshotClassName,
			Annotations: map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"},
		},
		Driver:         names.Driver,
		DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	}
}

// allocatableSeconds is how often kubelets ask again how many volumes a node takes: once a minute, and at once when an
// attachment fails because the slots are used up.
const allocatableSeconds = 60

// Namespace is where the driver is. Its pods on nodes are privileged, which the namespace has to allow.
func Namespace(c Config) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: typeMeta(corev1.SchemeGroupVersion, "Namespace"),
		ObjectMeta: metav1.ObjectMeta{
			Name:   c.withDefaults().Namespace,
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
		},
	}
}

// Driver is what Kubernetes has to know of the driver: volumes have to be attached, pods are not its business.
func Driver(c Config) *storagev1.CSIDriver {
	policy := c.withDefaults().FSGroupPolicy
	return &storagev1.CSIDriver{
		TypeMeta:   typeMeta(storagev1.SchemeGroupVersion, "CSIDriver"),
		ObjectMeta: metav1.ObjectMeta{Name: names.Driver},
		Spec: storagev1.CSIDriverSpec{
			AttachRequired:                     new(true),
			PodInfoOnMount:                     new(false),
			VolumeLifecycleModes:               []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent},
			FSGroupPolicy:                      &policy,
			NodeAllocatableUpdatePeriodSeconds: new(int64(allocatableSeconds)),
		},
	}
}

// What the module of external-snapshotter's client has in config/crd, without the descriptions, each with its origin and
// license: `go test -update` takes it from there.
//
//go:embed crds/*.yaml
var snapshotDefinitions embed.FS

// Definitions are the CustomResourceDefinitions: of CSINodeTopology and CnsVSphereVolumeMigration, which are upstream's
// driver's, and of volume snapshots, which are of the release of external-snapshotter that go.mod names.
func Definitions() ([]*unstructured.Unstructured, error) {
	first, err := definition(nodetopology.Kind, nodetopology.CRD())
	if err != nil {
		return nil, err
	}
	second, err := definition(migrated.Kind, migrated.CRD())
	if err != nil {
		return nil, err
	}
	all := []*unstructured.Unstructured{first, second}
	files, err := fs.Glob(snapshotDefinitions, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		data, err := snapshotDefinitions.ReadFile(file)
		if err != nil {
			return nil, err
		}
		one, err := definition(strings.TrimPrefix(file, "crds/"), data)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func definition(name string, data []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &u.Object); err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	if u.GetKind() != "CustomResourceDefinition" {
		return nil, fmt.Errorf("definition %s: it is a %q", name, u.GetKind())
	}
	return u, nil
}
