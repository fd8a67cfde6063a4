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
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/syncer"
)

// DefaultNamespace is upstream's namespace.
const DefaultNamespace = "vmware-system-csi"

// The ServiceAccounts, one per process, with the usual names of the processes.
const (
	Controller         = "vsphere-csi-controller"
	Node               = "vsphere-csi-node"
	Provisioner        = "csi-provisioner"
	Attacher           = "csi-attacher"
	Resizer            = "csi-resizer"
	Snapshotter        = "csi-snapshotter"
	SnapshotController = "snapshot-controller"
)

// Config is the configuration of [All]. The zero value has a separate process for each component, and no Secret.
type Config struct {
	// Namespace is the namespace of all namespaced objects; DefaultNamespace when empty.
	Namespace string
	// OnePod reports that the driver's controller and its sidecars run in one pod with one ServiceAccount, Controller, which
	// gets all their roles. The snapshot-controller, which is not a sidecar, has a separate one.
	OnePod bool
	// LeaderElection reports that the sidecars and the snapshot-controller run with --leader-election, with their Leases in
	// Namespace.
	LeaderElection bool
	// Replicas reports that the driver's controller runs with --leader-election too, because there are several.
	Replicas bool
	// Capacity reports that csi-provisioner runs with --enable-capacity, so that the scheduler chooses only nodes where a volume has
	// space. Without the CSIStorageCapacity objects of csi-provisioner, no pod with a claim that waits for it would be scheduled.
	Capacity bool
	// SecretNames are the Secrets in SecretNamespace (Namespace when empty) in the driver's configuration. Order and duplicates
	// do not matter. Mounted files need no permission.
	SecretNamespace string
	SecretNames     []string
	// FSGroupPolicy controls whether kubelets change the group of a volume's files; ReadWriteOnceWithFSType when empty, the
	// default of Kubernetes. With kubelets without the privilege (hollow ones, which run as the user of the sandbox), it must be
	// None, or pods with an fsGroup do not start.
	FSGroupPolicy storagev1.FSGroupPolicy
	// Policies are the storage policies for which StorageClasses are created.
	Policies []string
	// NoStorageClasses leaves StorageClasses out.
	NoStorageClasses bool
}

func (c Config) withDefaults() Config {
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	c.SecretNamespace = cmp.Or(c.SecretNamespace, c.Namespace)
	c.FSGroupPolicy = cmp.Or(c.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	c.SecretNames = slices.Compact(slices.Sorted(slices.Values(c.SecretNames)))
	return c
}

// All returns all objects, in the order of creation: the namespace and the definitions first. A definition is served shortly after
// its creation, which the VolumeSnapshotClass, the last object, needs. An error can only be a mistake in the embedded files.
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
	if !c.NoStorageClasses {
		for _, class := range StorageClasses(c) {
			all = append(all, class)
		}
	}
	return append(all, SnapshotClass()), nil
}

func typeMeta(gv interface{ String() string }, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: gv.String(), Kind: kind}
}

// The classes that exist in every configuration.
const (
	// DefaultClass is the default StorageClass: a volume is created where the pod is scheduled.
	DefaultClass = "vsphere"
	// ImmediateClass creates the volume at once, and the pod is scheduled where the volume is.
	ImmediateClass = "vsphere-immediate"
	// SnapshotClassName is the default VolumeSnapshotClass.
	SnapshotClassName = "vsphere"
)

// fsType is the file system of volumes that are not block devices.
const fsType = "ext4"

// StorageClasses returns the default class, the immediate one, and one for each storage policy, "vsphere-gold" for "Gold".
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

// policyClass returns the name of a policy's class: the valid part of the policy's name, with a number if it is taken.
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

// SnapshotClass returns the default VolumeSnapshotClass.
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

// allocatableSeconds is how often kubelets read the maximum number of volumes again. They also do when an attachment fails for lack
// of slots.
const allocatableSeconds = 60

// Namespace returns the driver's namespace, which must allow the privileged pods on nodes.
func Namespace(c Config) *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: typeMeta(corev1.SchemeGroupVersion, "Namespace"),
		ObjectMeta: metav1.ObjectMeta{
			Name:   c.withDefaults().Namespace,
			Labels: map[string]string{"pod-security.kubernetes.io/enforce": "privileged"},
		},
	}
}

// Driver returns the CSIDriver object: volumes must be attached, and the driver needs no pod information.
func Driver(c Config) *storagev1.CSIDriver {
	policy := c.withDefaults().FSGroupPolicy
	d := &storagev1.CSIDriver{
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
	if c.Capacity {
		d.Spec.StorageCapacity = new(true)
	}
	return d
}

// The files of external-snapshotter's client in config/crd without descriptions, each with its origin and license; `go test
// -update` updates them.
//
//go:embed crds/*.yaml
var snapshotDefinitions embed.FS

// Definitions returns the CustomResourceDefinitions: CSINodeTopology, CnsVSphereVolumeMigration and TriggerCsiFullSync of upstream's
// driver, and those of volume snapshots in the release of external-snapshotter in go.mod.
func Definitions() ([]*unstructured.Unstructured, error) {
	first, err := definition(nodetopology.Kind, nodetopology.CRD())
	if err != nil {
		return nil, err
	}
	second, err := definition(migrated.Kind, migrated.CRD())
	if err != nil {
		return nil, err
	}
	third, err := definition(syncer.Kind, syncer.CRD())
	if err != nil {
		return nil, err
	}
	all := []*unstructured.Unstructured{first, second, third}
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
		return nil, fmt.Errorf("definition %s: unexpected kind %q", name, u.GetKind())
	}
	return u, nil
}

const (
	core      = ""
	storage   = "storage.k8s.io"
	snapshots = "snapshot.storage.k8s.io"
	vmware    = "cns.vmware.com"
)

// The permissions of the sidecars are those in upstream's deploy/kubernetes/rbac.yaml of each repository, without those for
// features that this driver does not use (clones, secrets in classes, group snapshots, modification of volumes), and
// without those that the releases in go.mod do not use.
