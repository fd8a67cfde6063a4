package supervisor

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Storage is the storage of the vCenter: Cloud Native Storage (CNS). Its methods may be called from any goroutine, and may be repeated.
type Storage interface {
	// CreateVolume makes a disk, or returns the one with the name.
	CreateVolume(context.Context, VolumeSpec) (Volume, error)
	// DeleteVolume deletes a volume with its disk. One that does not exist is deleted already.
	DeleteVolume(ctx context.Context, id string) error
	// ExpandVolume makes a volume at least that large.
	ExpandVolume(ctx context.Context, id string, bytes int64) error
	// AttachVolume attaches a volume to a VM and returns the UUID of its disk, with hyphens.
	AttachVolume(ctx context.Context, id string, vm VM) (diskUUID string, err error)
	// DetachVolume succeeds if the volume is not attached.
	DetachVolume(ctx context.Context, id string, vm VM) error
	// RecordEntity adds an object of a guest cluster to the record of a volume, or removes it. To remove it from a volume that does not
	// exist is no error.
	RecordEntity(ctx context.Context, id string, e Entity, remove bool) error
}

// VolumeSpec is a volume to create.
type VolumeSpec struct {
	Name, Policy string
	Bytes        int64
	// Zones are those of which one must reach the volume, the preferred one first.
	Zones []string
	// PersistentVolume, Namespace and Claim are its objects in the Supervisor.
	PersistentVolume, Namespace, Claim string
}

// Volume is a volume of the vCenter.
type Volume struct {
	ID    string
	Bytes int64
	// Zones are those that reach it.
	Zones []string
}

// Entity is an object of a guest cluster in the record of a volume. Kind is as CNS has it, such as PERSISTENT_VOLUME.
type Entity struct {
	Cluster, Kind, Namespace, Name string
	Labels                         map[string]string
	// Refers is the object of the same cluster that it refers to; a zero Kind: none.
	Refers EntityRef
}

// EntityRef names an object of a cluster.
type EntityRef struct{ Kind, Namespace, Name string }

const cnsGroup = "cns.vmware.com"

// Resources of storage.
func claims() schema.GroupVersionResource  { return resource("", "v1", "persistentvolumeclaims") }
func volumes() schema.GroupVersionResource { return resource("", "v1", "persistentvolumes") }
func storageClasses() schema.GroupVersionResource {
	return resource("storage.k8s.io", "v1", "storageclasses")
}

func attachments() schema.GroupVersionResource {
	return resource(cnsGroup, "v1alpha1", "cnsnodevmattachments")
}

func volumeMetadata() schema.GroupVersionResource {
	return resource(cnsGroup, "v1alpha1", "cnsvolumemetadatas")
}

const (
	// cnsFinalizer keeps CnsNodeVmAttachments and CnsVolumeMetadata until CNS has followed.
	cnsFinalizer = "cns.vmware.com"
	// claimFinalizer keeps a claim that a VM uses.
	claimFinalizer = "kubernetes.io/pvc-protection"
	// driver is the CSI driver of the Supervisor's volumes.
	driver = "csi.vsphere.vmware.com"
	// requestedTopology is what a guest cluster asks for, accessibleTopology the answer: lists of labels in JSON.
	requestedTopology  = "csi.vsphere.volume-requested-topology"
	accessibleTopology = "csi.vsphere.volume-accessible-topology"
)

// storage makes claims, attachments and CnsVolumeMetadata true.
type storage struct{ *Supervisor }

// StorageClassName is the name of the StorageClass of a storage policy.
func StorageClassName(policy string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(policy), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-")
}

// storageClass returns the StorageClass of a policy, which all namespaces see.
func storageClass(policy string) item {
	i := object(storageClasses(), "StorageClass", "", StorageClassName(policy), nil)
	delete(i.Object, "spec")
	i.Object["provisioner"] = driver
	i.Object["parameters"] = map[string]any{"storagePolicyID": policyID(policy)}
	i.Object["reclaimPolicy"] = "Delete"
	i.Object["allowVolumeExpansion"] = true
	i.Object["volumeBindingMode"] = "Immediate"
	return i
}

// policyOf returns the policy of a StorageClass that a namespace may use.
func (st storage) policyOf(namespace, class string) (string, bool) {
	for _, n := range st.opts.Setup.Namespaces {
		if n.Name != namespace {
			continue
		}
		for _, p := range n.StoragePolicies {
			if StorageClassName(p) == class {
				return p, true
			}
		}
	}
	return "", false
}

// reconcilers returns the controllers of storage.
func (st storage) reconcilers() reconcilers {
	return reconcilers{
		claims(): st.reconcileClaim, volumes(): st.reconcileVolume, attachments(): st.reconcileAttachment, volumeMetadata(): st.reconcileMetadata,
	}
}

// changed has the objects handled that depend on an attachment: its VirtualMachine and its claim.
func (st storage) changed(a any) {
	o := deleted(a)
	if o == nil {
		return
	}
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "VirtualMachine" {
			st.loop(machines()).queue.Add(o.GetNamespace() + "/" + owner.Name)
		}
	}
	if l := st.loop(claims()); l != nil {
		l.queue.Add(o.GetNamespace() + "/" + text(o, "spec", "volumename"))
	}
}
